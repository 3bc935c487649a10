"""Faster hand-over of the interpreter lock while topics are open.

The event loop shares the interpreter with the training thread and waits up to the
switch interval, 5 ms by default, each time it has something to do. With 0.5 ms the
round trip of a small message beside a busy thread fell from 7.5 to 3.0 ms (pure Python)
and from 5.7 to 3.0 ms (small ufuncs), and the thread did not get slower.
"""

import sys

from daskdl.arrays.held_setting import HeldSetting

OPEN_TOPIC_INTERVAL_S = 0.0005

SWITCH_INTERVAL = HeldSetting(
    sys.getswitchinterval, sys.setswitchinterval, lambda before_s: OPEN_TOPIC_INTERVAL_S
)

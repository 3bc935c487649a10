"""``python -m benchmarks``, and ``python -m benchmarks learning``."""

import sys

from benchmarks.command import main
from benchmarks.learning import command as learning

if sys.argv[1:2] == ["learning"]:
    learning.main(sys.argv[2:])
else:
    main()

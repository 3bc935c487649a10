"""``python -m benchmarks``; with ``learning`` and ``simulate`` nothing is timed."""

import sys
from importlib import import_module

# Each imports daskdl into this process; what is measured runs in others.
_WORDS = {"learning": "learning", "simulate": "simulation"}

word, *others = sys.argv[1:] or [""]
if word in _WORDS:
    import_module(f"benchmarks.{_WORDS[word]}.command").main(others)
else:
    import_module("benchmarks.command").main()

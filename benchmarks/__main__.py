"""``python -m benchmarks``; with ``learning`` and ``simulate`` nothing is timed.

What ``parallel`` measures is threads and processes of its own, and ``device`` a GPU.
"""

import sys
from importlib import import_module

# Each imports daskdl into this process; what is measured otherwise runs in others.
_WORDS = {
    "device": "device",
    "learning": "learning",
    "parallel": "parallel",
    "simulate": "simulation",
}

# Workers of a cluster import this module, too.
if __name__ == "__main__":
    word, *others = sys.argv[1:] or [""]
    if word in _WORDS:
        import_module(f"benchmarks.{_WORDS[word]}.command").main(others)
    else:
        import_module("benchmarks.command").main()

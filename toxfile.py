"""Lets tox see the interpreters that pyenv keeps but has not activated.

Without pyenv this changes nothing.
"""

import os
from pathlib import Path

_root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
_bins = sorted(str(path) for path in _root.glob("versions/3.*/bin"))
os.environ["PATH"] = os.pathsep.join([*_bins, os.environ.get("PATH", os.defpath)])

"""Names of the golden cases, for parameters of tests; none where files are absent."""

import json
import os
from pathlib import Path

_DEFAULT = Path(__file__).parents[3] / "shared" / "fixtures" / "dl4j"


def case_names(kind, *prefixes):
    """Return the names of the cases of a kind that begin with one of the prefixes."""
    return [
        case["name"]
        for case in _cases()
        if case["kind"] == kind and case["name"].startswith(prefixes or "")
    ]


def case_files(kind, suffix):
    """Return the files of a kind of cases that end so, as paths below the folder."""
    return [
        file
        for case in _cases()
        if case["kind"] == kind
        for file in case.get("files", ())
        if file.endswith(suffix)
    ]


def _cases():
    path = Path(os.environ.get("DASKDL_GOLDEN") or _DEFAULT) / "manifest.json"
    return json.loads(path.read_text("utf-8"))["cases"] if path.is_file() else []

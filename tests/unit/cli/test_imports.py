"""Files and modules that a job imports."""

import sys

import pytest

from daskdl.cli.imports import import_all
from daskdl.errors import OptionError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield tmp_path
    sys.modules.pop("of_the_job", None)


def test_a_file_that_python_finds_under_its_name_is_taken(folder):
    """As in the current directory of ``python -m daskdl``."""
    (folder / "of_the_job.py").write_text("here = True")
    import_all([str(folder / "of_the_job.py")], "job.yaml: imports")
    assert sys.modules["of_the_job"].here
    import_all([str(folder / "of_the_job.py")], "job.yaml: imports")


def test_a_file_that_hides_another_is_refused(folder):
    (folder / "of_the_job.py").write_text("")
    (folder / "job").mkdir()
    other = folder / "job" / "of_the_job.py"
    other.write_text("")
    with pytest.raises(OptionError, match="would hide 'of_the_job'"):
        import_all([str(other)], "job.yaml: imports")

"""What reads and writes the files of a class is found by the name of the class."""

import io

import pytest

from daskdl import class_files
from daskdl.class_files import class_file
from daskdl.data.dataset import DataSet
from daskdl.errors import MissingExtraError
from daskdl.evaluation.roc import ROC


@pytest.fixture
def searches(monkeypatch):
    """Forget what was found, and list what is looked for from now on."""
    asked = []
    found = class_files.entry_points

    def noted(*, group, name):
        asked.append(name)
        return found(group=group, name=name)

    monkeypatch.setattr(class_files, "entry_points", noted)
    class_file.cache_clear()
    yield asked
    class_file.cache_clear()


def test_every_class_is_looked_for_once(searches):
    stream = io.BytesIO()
    DataSet([[1.0]]).write_to(stream)
    for _ in range(3):
        DataSet.read_from(io.BytesIO(stream.getvalue()), name="f")
    ROC.from_json(ROC(2).to_json())
    assert searches == ["DataSet", "ROC"]


def test_class_without_files_is_refused():
    with pytest.raises(MissingExtraError, match="Nothing: an entry point of 'daskdl"):
        class_file("Nothing")

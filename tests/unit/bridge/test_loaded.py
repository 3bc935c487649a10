"""Files of a form of one's own, by a function of the user's."""

import numpy as np
import pytest

from daskdl.data.dataset import DataSet
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.errors import DataError, OptionError


def rows_of_text(url):
    rows = np.loadtxt(url, delimiter=";", ndmin=2)
    return DataSet(rows[:, 1:], np.eye(3)[rows[:, 0].astype(int)])


@pytest.fixture
def folder(tmp_path):
    for number, text in enumerate(["0;1.5;2\n1;2;3\n", "2;0;1\n"]):
        (tmp_path / f"part-{number:05d}.mine").write_text(text)
    (tmp_path / "_SUCCESS").touch()
    return str(tmp_path)


def test_each_file_is_a_minibatch(folder):
    source = open_source(folder, SourceOptions(loader=rows_of_text))
    assert source.minibatches
    first, second = (partition.load() for partition in source.partitions)
    assert first.features.tolist() == [[1.5, 2.0], [2.0, 3.0]]
    assert second.labels.tolist() == [[0.0, 0.0, 1.0]]


def test_what_is_no_minibatch_is_refused_with_its_file(folder):
    source = open_source(folder, SourceOptions(loader=lambda url: [url]))
    with pytest.raises(DataError, match=r"part-00000\.mine.* got builtins\.list"):
        source.partitions[0].load()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loader": "numpy"}, "must be a function"),
        ({"loader": rows_of_text, "format": "csv"}, "'format' must be left out"),
        ({"loader": rows_of_text, "label": "y"}, "'label' must be left out"),
    ],
)
def test_other_loaders_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        SourceOptions(**options)


def test_a_loader_is_for_files_only():
    arrays = (np.zeros((2, 3)), np.zeros((2, 1)))
    with pytest.raises(OptionError, match="loader"):
        open_source(arrays, SourceOptions(loader=rows_of_text))

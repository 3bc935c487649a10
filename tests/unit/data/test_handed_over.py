"""Whose word counts on how data of another program reach the workers."""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from daskdl.cluster.frontend import DaskMultiLayer
from daskdl.cluster.masters.options import SharedTrainingMaster
from daskdl.data.dataset import DataSet
from daskdl.data.sources import source as sources
from daskdl.data.sources.handed_over import handed_over, with_defaults
from daskdl.data.sources.memory import MemorySources
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import OptionError
from tests.unit.cluster.inline_client import InlineClient
from tests.unit.networks.small import mlp


class Held:
    """What another program holds."""

    def __init__(self, examples):
        self.examples = examples


class HeldSources:
    """Gives the examples, and notes how they were asked for."""

    def __init__(self):
        self.ways = []

    def accepts(self, data):
        return isinstance(data, Held)

    def heeds(self, data):
        return "rdd_training_approach", "export_directory"

    @contextmanager
    def handed_over(self, data, options, client):
        self.ways.append((options.rdd_training_approach, options.export_directory))
        nothing = {"rdd_training_approach": None, "export_directory": None}
        yield data.examples, replace(options, **nothing)
        self.ways.append("released")


@pytest.fixture
def held(monkeypatch):
    opener = HeldSources()
    monkeypatch.setattr(sources, "_openers", lambda: iter([opener, MemorySources()]))
    return opener


@pytest.fixture
def examples(rng):
    labels = np.eye(3)[[0, 1, 2, 0, 1, 2, 0, 1]]
    return [DataSet(rng.normal(size=(8, 4)), labels)]


OF_MASTER = {"rdd_training_approach": "direct", "export_directory": "/master"}


@pytest.mark.parametrize(
    ("of_call", "way"),
    [
        ({}, ("direct", "/master")),
        ({"rdd_training_approach": "export"}, ("export", "/master")),
        ({"export_directory": "/call"}, ("direct", "/call")),
    ],
)
def test_the_call_counts_and_then_the_master(held, examples, of_call, way):
    options = with_defaults(Held(examples), SourceOptions(**of_call), OF_MASTER)
    with handed_over(Held(examples), options, None) as (there, _):
        assert there is examples
        assert held.ways == [way]
    assert held.ways[-1] == "released"


def test_other_data_are_left_as_they_are(held, examples):
    options = with_defaults(examples, SourceOptions(), OF_MASTER)
    assert options == SourceOptions()
    with handed_over(examples, options, None) as there:
        assert there == (examples, options)


def test_a_front_end_asks_as_its_master_says(held, examples):
    front = DaskMultiLayer(InlineClient(), mlp(), SharedTrainingMaster(**OF_MASTER))
    assert front.score(Held(examples)) > 0
    assert front.score_examples(Held(examples), export_directory="/b").size == 8
    assert held.ways == [
        ("direct", "/master"),
        "released",
        ("direct", "/b"),
        "released",
    ]


def test_a_master_says_nothing_of_paths(tmp_path):
    path = str(tmp_path / "part-0.parquet")
    pq.write_table(pa.table({"features": [[0.0] * 4] * 3, "label": [0, 1, 0]}), path)
    front = DaskMultiLayer(InlineClient(), mlp(), SharedTrainingMaster(**OF_MASTER))
    assert front.score(path) > 0
    with pytest.raises(OptionError, match="rdd_training_approach='direct'"):
        front.score(path, rdd_training_approach="direct")


def test_what_is_no_approach_is_refused():
    message = "SourceOptions: rdd_training_approach must be one of .*, got 'file'"
    with pytest.raises(OptionError, match=message):
        SourceOptions(rdd_training_approach="file")

"""Activations, updaters, vertices that somebody wrote for DL4J: by entry point."""

import importlib.metadata

import pytest

from daskdl.dl4j.network.functions import ACTIVATION
from daskdl.dl4j.network.json_objects import GROUP
from daskdl.dl4j.network.training import UPDATER
from daskdl.dl4j.network.vertices import read_vertex
from daskdl.errors import FormatError

MODULE = "tests.unit.dl4j.network.test_custom_classes"


def read_activation(mapping, where):
    return {"type": "leakyrelu", "alpha": mapping["slope"]}


def read_doubling(mapping, where):
    return {"type": "scale", "scale_factor": 2.0}


@pytest.fixture
def plugged_in(monkeypatch):
    """A package is installed that says what two classes are in daskdl."""
    ours = {
        "org.example.Leaky": "read_activation",
        "org.example.Doubling": "read_doubling",
    }
    installed = importlib.metadata.entry_points

    def entry_points(**wanted):
        if wanted["group"] != GROUP:
            return installed(**wanted)
        return [
            importlib.metadata.EntryPoint(name, f"{MODULE}:{function}", GROUP)
            for name, function in ours.items()
            if name == wanted["name"]
        ]

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)


def test_an_activation_becomes_what_its_reader_says(plugged_in):
    value = {"@class": "org.example.Leaky", "slope": 0.3}
    assert ACTIVATION.read(value, "f") == {"type": "leakyrelu", "alpha": 0.3}


def test_a_vertex_becomes_what_its_reader_says(plugged_in):
    found = read_vertex({"@class": "org.example.Doubling"}, "f")
    assert found == {"type": "scale", "scale_factor": 2.0}


@pytest.mark.parametrize("read", [ACTIVATION.read, UPDATER.read, read_vertex])
def test_without_a_reader_the_class_and_the_place_for_one_are_named(plugged_in, read):
    with pytest.raises(FormatError, match=rf"^f: .*org\.example\.Other.*{GROUP}"):
        read({"@class": "org.example.Other"}, "f")

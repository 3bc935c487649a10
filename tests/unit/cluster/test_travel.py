"""What cannot go to workers is named before a fit starts."""

import pickle
import threading

import numpy as np
import pytest

from daskdl import (
    DaskMultiLayer,
    DataSet,
    ImagePreProcessingScaler,
    SharedTrainingMaster,
    SourceOptions,
    TrainingHook,
)
from daskdl.cluster.travel import KINDS, check_travels, load_each, travelling
from daskdl.errors import OptionError
from tests.unit.cluster.inline_client import InlineClient
from tests.unit.networks.small import mlp


class Counting(TrainingHook):
    """Holds what has no form outside of its process."""

    def __init__(self):
        self.lock = threading.Lock()


class NotInstalled:
    """Comes from a module that workers lack."""

    def __reduce__(self):
        return _import, ("their_package.loaders",)


def _import(name):
    raise ModuleNotFoundError(f"No module named {name!r}")


def test_a_hook_that_cannot_be_pickled_is_named_before_the_fit():
    master = SharedTrainingMaster(training_hooks=[Counting()])
    front = DaskMultiLayer(InlineClient(), mlp(), master)
    with pytest.raises(
        OptionError, match=r"DaskMultiLayer: training_hooks must be .* "
    ):
        front.fit(DataSet(np.zeros((2, 4)), np.eye(3)[:2]))


def test_what_a_worker_cannot_load_is_named_with_the_reason():
    said = (
        r"fit: loader must be .* load, got ModuleNotFoundError: No module named 'their"
    )
    with pytest.raises(OptionError, match=said):
        check_travels(InlineClient(), "fit", {"loader": NotInstalled()})


def test_kinds_are_registered_where_they_are_loaded():
    refused = load_each({KINDS: pickle.dumps(pickle.dumps(NotInstalled()))})
    assert "their_package" in refused[KINDS]


def test_what_travels_well_is_no_matter():
    check_travels(InlineClient(), "fit", {"loader": len, "pre_processor": (3,)})


def test_of_daskdl_itself_nothing_is_asked():
    options = SourceOptions(pre_processor=ImagePreProcessingScaler())
    own = travelling(SharedTrainingMaster(), options, b"")
    client = InlineClient()
    check_travels(client, "fit", own)
    assert own == {}
    assert client.submitted == 0


def test_what_is_of_the_user_goes_by_its_name():
    master = SharedTrainingMaster(training_hooks=[Counting()])
    own = travelling(master, SourceOptions(loader=len), b"kinds")
    assert {*own} == {"training_hooks", "loader", KINDS}

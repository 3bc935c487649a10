"""How long workers may take to come, as each method of the front ends is told."""

import numpy as np
import pytest

from daskdl.cluster import frontend_inference
from daskdl.cluster.frontend import DaskMultiLayer
from daskdl.cluster.masters.options import SharedTrainingMaster
from daskdl.errors import OptionError
from tests.counting import counting_network

DATA = np.zeros((4, 1), "float32")
CALLS = {
    "fit": {"batch_size": 2},
    "evaluate": {},
    "score": {},
    "score_and_evaluate": {"evaluations": []},
    "do_evaluation": {"evaluations": []},
    "score_examples": {},
    "feed_forward_with_key": {"key": "id"},
}


class Client:
    asynchronous = False
    status = "running"
    submit = None


@pytest.fixture
def asked(monkeypatch):
    """A function that calls a method; returns how long it would wait for workers."""
    waits = []

    def enough_workers(client, wanted, resources, timeout_s):
        waits.append(timeout_s)
        raise InterruptedError

    monkeypatch.setattr(frontend_inference, "enough_workers", enough_workers)
    master = SharedTrainingMaster(start_timeout_s=5.0)

    def ask(method, **how):
        front = DaskMultiLayer(Client(), counting_network(4, 2), master)
        with pytest.raises(InterruptedError):
            getattr(front, method)(DATA, **CALLS[method], **how)
        return waits

    return ask


@pytest.mark.parametrize("method", CALLS)
def test_each_method_is_told_how_long_workers_may_take(asked, method):
    assert asked(method, start_timeout_s=7) == [7]


@pytest.mark.parametrize("method", CALLS)
def test_it_is_the_time_of_the_training_master_if_nothing_is_said(asked, method):
    assert asked(method) == [5.0]


@pytest.mark.parametrize("method", CALLS)
def test_no_time_is_refused(method):
    front = DaskMultiLayer(Client(), counting_network(4, 2))
    with pytest.raises(OptionError, match="start_timeout_s must be > 0, got 0"):
        getattr(front, method)(DATA, **CALLS[method], start_timeout_s=0)

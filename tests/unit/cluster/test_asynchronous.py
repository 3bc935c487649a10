"""Methods of front ends are awaited where the client is asynchronous."""

import asyncio
import inspect
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from daskdl import DataSet, RegressionEvaluation
from daskdl.cluster import asynchronous
from daskdl.cluster.asynchronous import AWAITED
from daskdl.cluster.frontend import DaskComputationGraph, DaskMultiLayer
from daskdl.errors import OptionError
from tests.unit.cluster.inline_client import InlineClient
from tests.unit.networks.small import mlp

# They work in this process.
LOCAL = {"predict", "save"}


class Asynchronous(InlineClient):
    """Stands in for an asynchronous client."""

    asynchronous = True
    security = None
    scheduler = SimpleNamespace(address="tcp://scheduler:8786")


class Twin(InlineClient):
    """Stands in for the synchronous client that a call opens."""

    opened = ()

    def __init__(self, address, **options):
        super().__init__()
        self.address, self.threads = address, []
        Twin.opened = (*Twin.opened, self)
        self.is_closed = False

    def submit(self, *args, **options):
        self.threads.append(threading.current_thread())
        return super().submit(*args, **options)

    def close(self):
        self.is_closed = True


@pytest.fixture
def front(monkeypatch):
    monkeypatch.setattr(asynchronous, "Client", Twin)
    monkeypatch.setattr(Twin, "opened", ())
    return DaskMultiLayer(Asynchronous(), mlp())


@pytest.fixture
def data(rng):
    return DataSet(rng.normal(size=(6, 4)), np.eye(3)[rng.integers(0, 3, 6)])


def test_an_evaluation_is_awaited(front, data):
    found = asyncio.run(front.evaluate(data))
    expected = front.network.evaluate(data)
    np.testing.assert_array_equal(found.confusion_matrix, expected.confusion_matrix)


def test_a_method_that_calls_another_is_awaited_once(front, data):
    found = asyncio.run(
        front.feed_forward_with_mask_and_key([("a", data.features[0], None)])
    )
    assert [key for key, _ in found] == ["a"]


def test_names_of_dl4j_are_awaited_too(front, data):
    assert isinstance(asyncio.run(front.evaluateRegression(data)), RegressionEvaluation)


def test_the_work_is_done_by_a_client_of_its_own_which_is_closed(front, data):
    client = front._client
    asyncio.run(front.score(data))
    (twin,) = Twin.opened
    assert twin.address == "tcp://scheduler:8786"
    assert twin.is_closed
    assert threading.main_thread() not in twin.threads
    assert front._client is client


def test_calls_of_one_front_end_take_turns(front, data):
    async def both():
        return await asyncio.gather(front.score(data), front.score(data))

    first, second = asyncio.run(both())
    assert first == second
    assert len(Twin.opened) == 2


def test_an_error_comes_out_of_the_await(front, data):
    with pytest.raises(OptionError, match="batch_size must be a whole number"):
        asyncio.run(front.evaluate(data, batch_size=0))
    assert Twin.opened[0].is_closed


def test_a_synchronous_client_answers_at_once(data):
    assert DaskMultiLayer(InlineClient(), mlp()).score(data) > 0


@pytest.mark.parametrize("kind", [DaskMultiLayer, DaskComputationGraph])
def test_every_method_that_takes_data_is_among_those_that_are_awaited(kind):
    methods = {name: getattr(kind, name) for name in dir(kind) if name[0] != "_"}
    takes_data = {
        method
        for name, method in methods.items()
        if callable(method) and name not in LOCAL
        if {"data", "paths"} & {*inspect.signature(method).parameters}
    }
    assert takes_data == {methods[name] for name in AWAITED if name in methods}

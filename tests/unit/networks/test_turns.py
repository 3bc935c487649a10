"""One network, and several threads of a user that call it at one time."""

import copy
import os
import pickle
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import daskdl
from daskdl import AutoEncoder, FeedForward, NormalizerMinMaxScaler, Output
from daskdl.errors import DataError, NetworkBusyError
from daskdl.nn.program import Program
from daskdl.nn.turns import Turn
from tests.unit.networks.small import mlp, rnn, rows, sequence

ROOT = Path(__file__).parents[3]
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture
def slow(monkeypatch):
    """Let a pass last until another thread has had the time to disturb it."""
    forward = Program.forward

    def slowly(self, *args, **options):
        time.sleep(0.001)
        outputs = forward(self, *args, **options)
        time.sleep(0.001)
        return outputs

    monkeypatch.setattr(Program, "forward", slowly)


def at_once(calls):
    """Call functions in a thread each, and return what comes in their order."""
    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]


def team_threads():
    return [t for t in threading.enumerate() if t.name.startswith("daskdl team")]


def blas_threads():
    return {i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas"}


def wait_until(holds):
    while not holds():
        time.sleep(0.001)


USES = {
    "output": lambda network, batch: network.output(batch.features),
    "predict": lambda network, batch: network.predict(batch.features),
    "score_examples": lambda network, batch: network.score_examples(batch),
    "compute_score": lambda network, batch: network.compute_score(batch),
    "evaluate": lambda network, batch: network.evaluate(batch).accuracy(),
}


@pytest.mark.parametrize("use", USES)
def test_calls_at_one_time_return_what_they_do_alone(use, rng, slow):
    network, call = mlp(), USES[use]
    batches = [rows(rng, n) for n in (3, 7, 12, 5)]
    alone = [call(network, batch) for batch in batches]
    found = at_once([lambda b=b: call(network, b) for b in batches * 3])
    for one, wanted in zip(found, alone * 3, strict=True):
        np.testing.assert_equal(one, wanted)


def test_stretches_of_series_come_one_after_the_other(rng, slow):
    network, alone = rnn(), rnn()
    stretch = rng.standard_normal((2, 3, 4))
    found = at_once([lambda: network.rnn_time_step(stretch)] * 4)
    wanted = [alone.rnn_time_step(stretch) for _ in range(4)]
    assert {one.tobytes() for one in found} == {one.tobytes() for one in wanted}


def test_predictions_beside_a_fit_do_not_change_it(rng, slow):
    network, alone, batch = mlp(), mlp(), rows(rng, 24)
    alone.fit(batch, batch_size=6, epochs=3)
    is_over = threading.Event()
    features = rng.standard_normal((9, 4))

    def fit():
        network.fit(batch, batch_size=6, epochs=3)
        is_over.set()

    def predict():
        while not is_over.is_set():
            network.output(features)

    at_once([fit, predict])
    np.testing.assert_array_equal(network.params, alone.params)


def test_minibatches_of_two_loops_take_turns(rng, slow):
    network, batch = mlp(updater="sgd"), rows(rng)
    at_once([lambda: network.fit_minibatch(batch)] * 4)
    alone = mlp(updater="sgd")
    for _ in range(4):
        alone.fit_minibatch(batch)
    np.testing.assert_array_equal(network.params, alone.params)


def test_no_team_is_left_behind(rng, monkeypatch, slow):
    monkeypatch.setattr("daskdl.nn.cutting._A_PASS", 1)
    monkeypatch.setattr("daskdl.nn.cutting._A_PART", 0)
    network, batch = mlp(), rows(rng)
    network.threads = 2
    at_once([lambda: network.output(batch.features)] * 8)
    assert team_threads() == []


def test_a_call_leaves_the_team_of_another_thread(rng, monkeypatch):
    monkeypatch.setattr("daskdl.nn.cutting._A_PASS", 1)
    monkeypatch.setattr("daskdl.nn.cutting._A_PART", 0)
    network, batch = mlp(), rows(rng)
    network.threads = 2
    with network.keeping_threads():
        network.fit_minibatch(batch)
        kept = team_threads()
        at_once([lambda: network.output(batch.features)])
        assert team_threads() == kept
    assert team_threads() == []


def test_who_has_waited_is_next():
    turn, order = Turn(), []

    def come():
        with turn:
            order.append("who waited")

    with turn:
        other = threading.Thread(target=come)
        other.start()
        wait_until(turn._next.locked)
    with turn:
        order.append("who had its turn")
    other.join()
    assert order == ["who waited", "who had its turn"]


def test_a_turn_may_be_taken_again_and_ends_with_an_error():
    turn = Turn()
    with pytest.raises(DataError), turn, turn:
        raise DataError("in the midst")
    assert at_once([lambda: turn.__enter__() is None and not turn.__exit__()]) == [True]


def test_a_normalizer_that_is_set_meanwhile_stays():
    network, scaler = mlp(), NormalizerMinMaxScaler()
    with network.normalizing(None):
        other = threading.Thread(target=setattr, args=(network, "normalizer", scaler))
        other.start()
        wait_until(network.turns.turn._next.locked)
    other.join()
    assert network.normalizer is scaler


class Calling(daskdl.Listener):
    """Does something once, after the first minibatch."""

    def __init__(self, call):
        self._calls = [call]

    def iteration_done(self, fit):
        while self._calls:
            self._calls.pop()(fit.network)


def refusal_of(train):
    """Return what another thread hears that trains a network, too."""

    def call():
        with pytest.raises(NetworkBusyError) as refused:
            train()
        return str(refused.value)

    return at_once([call])[0]


def test_a_second_fit_is_refused_and_the_first_one_goes_on(rng):
    network, alone, batch = mlp(), mlp(), rows(rng)
    alone.fit(batch, epochs=3)
    messages = []

    def fit_elsewhere(network):
        messages.append(refusal_of(lambda: network.fit(never_read())))

    def never_read():
        pytest.fail("data were read")
        yield batch

    network.fit(batch, epochs=3, listeners=Calling(fit_elsewhere))
    assert messages == [
        (
            "MultiLayerNetwork.fit: one thread at a time may train the network, but it "
            "is being trained by another thread. Wait until that ends, or train a "
            "clone()."
        )
    ]
    np.testing.assert_array_equal(network.params, alone.params)


@pytest.mark.parametrize(
    "pretrain",
    [
        lambda network, batch: network.pretrain(batch),
        lambda network, batch: network.pretrain_layer(0, batch),
    ],
)
def test_pretraining_beside_a_fit_is_refused(rng, pretrain):
    batch, messages = rows(rng), []
    network = sequence(FeedForward(size=4), AutoEncoder(n_out=3), Output(n_out=3))

    def pretrain_elsewhere(network):
        messages.append(refusal_of(lambda: pretrain(network, batch)))

    network.fit(batch, listeners=Calling(pretrain_elsewhere))
    assert "being trained by another thread" in messages[0]


def test_a_fit_that_failed_is_over(rng):
    network, batch = mlp(), rows(rng)
    with pytest.raises(DataError):
        network.fit([])
    at_once([lambda: network.fit(batch)])
    assert network.iteration_count == 1


def test_a_listener_may_fit_in_its_own_thread(rng):
    network, batch = mlp(), rows(rng)
    network.fit(batch, epochs=2, listeners=Calling(lambda network: network.fit(batch)))
    assert network.iteration_count == 3


@pytest.mark.parametrize(
    "copied",
    [
        lambda network: network.clone(),
        copy.deepcopy,
        lambda network: pickle.loads(pickle.dumps(network)),
    ],
    ids=["clone", "deepcopy", "pickle"],
)
def test_a_copy_waits_for_nobody(rng, copied):
    network, features = mlp(), rng.standard_normal((3, 4))
    wanted = network.output(features)
    with network.turns.training("test"), network.normalizing(None):
        other = copied(network)
        (found,) = at_once([lambda: other.fit(rows(rng)) and wanted])
    assert other.iteration_count == 1
    assert found is wanted


@needs_fork
def test_a_forked_copy_waits_for_nobody():
    """In a process of its own: with threads of many packages a fork may hang."""
    here = f"from {__name__} import fork_while_another_trains as run; run()"
    command = [sys.executable, "-W", "ignore", "-c", here]
    assert subprocess.run(command, cwd=ROOT, timeout=200, check=False).returncode == 1


def fork_while_another_trains():
    """Who had its turn, or trained, is not there; ends with the copy's iterations."""
    network, batch = mlp(), rows(np.random.default_rng(0))
    is_in, goes_on = threading.Event(), threading.Event()

    def hold():
        with network.turns.training("test"), network.normalizing(None):
            is_in.set()
            goes_on.wait()

    other = threading.Thread(target=hold)
    other.start()
    is_in.wait()
    pid = os.fork()
    if pid == 0:
        try:
            network.fit(batch)
        finally:
            os._exit(network.iteration_count)
    goes_on.set()
    other.join()
    os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


class Watching(daskdl.Listener):
    """Notes how many threads BLAS has, outside of a minibatch."""

    def __init__(self):
        self.found = []

    def iteration_done(self, fit):
        self.found.append(blas_threads())


@pytest.fixture
def watched(monkeypatch):
    """How many threads BLAS has in the passes of a test."""
    forward, found = Program.forward, []

    def watching(self, *args, **options):
        found.append(blas_threads())
        return forward(self, *args, **options)

    monkeypatch.setattr(Program, "forward", watching)
    return found


@pytest.mark.parametrize("use", ["fit", "fit_minibatch", "compute_gradients", *USES])
def test_blas_has_no_more_threads_than_the_network(use, rng, watched):
    network, batch = mlp(), rows(rng)
    network.threads = 1
    call = USES.get(use, lambda network, batch: getattr(network, use)(batch))
    with threadpool_limits(limits=2):
        call(network, batch)
        assert blas_threads() == {2}
    assert watched == [{1}]


def test_blas_has_its_threads_between_minibatches(rng):
    network, watching = mlp(), Watching()
    network.threads = 1
    with threadpool_limits(limits=2):
        network.fit(rows(rng), listeners=watching)
    assert watching.found == [{2}]


def test_pretraining_limits_blas(rng, watched):
    network = sequence(
        FeedForward(size=4), AutoEncoder(n_out=3, loss="mse"), Output(n_out=3)
    )
    network.threads = 1
    with threadpool_limits(limits=2):
        network.pretrain(rows(rng))
    assert watched == [{1}]


def test_a_limit_of_the_process_is_not_raised(rng, watched):
    network = mlp()
    network.threads = 2
    with threadpool_limits(limits=1):
        network.output(rows(rng).features)
    assert watched == [{1}]


def test_blas_has_its_threads_after_an_error(rng):
    network = mlp()
    network.threads = 1
    with threadpool_limits(limits=2):
        with pytest.raises(DataError):
            network.output(np.full((2, 4), np.nan))
        assert blas_threads() == {2}

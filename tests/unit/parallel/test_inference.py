"""One network, and many threads that ask it."""

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from daskdl import (
    DataError,
    FeedForward,
    OptionError,
    Output,
    ParallelInference,
    ShapeError,
)
from daskdl.nn.program import Program
from tests.unit.networks.small import mlp, rnn, rows, sequence, two_in_two_out

ROOT = Path(__file__).parents[3]
MODES = ("batched", "sequential", "inplace")
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def inference_threads():
    return [t for t in threading.enumerate() if t.name == "daskdl inference"]


@pytest.fixture(autouse=True)
def no_thread_left():
    yield
    assert inference_threads() == []


@pytest.fixture
def gate(monkeypatch):
    """Passes wait until it is opened, and note their rows and their thread."""
    forward = Program.forward

    gate = threading.Event()
    gate.rows, gate.threads = [], set()

    def held(self, features, *args, **options):
        gate.rows.append(len(features[0]))
        gate.threads.add(threading.current_thread().name)
        gate.wait()
        return forward(self, features, *args, **options)

    monkeypatch.setattr(Program, "forward", held)
    return gate


def wait_until(holds):
    while not holds():
        time.sleep(0.001)


@pytest.mark.parametrize("mode", MODES)
def test_each_of_many_threads_gets_what_the_network_says(rng, mode):
    network = mlp(dtype="float64")
    given = [rng.standard_normal((1 + n % 3, 4)) for n in range(60)]
    with (
        ParallelInference(network, mode=mode, batch_limit=8) as inference,
        ThreadPoolExecutor(16) as pool,
    ):
        found = list(pool.map(inference.output, given))
    for features, output in zip(given, found, strict=True):
        np.testing.assert_allclose(output, network.output(features), rtol=1e-12)


def test_series_of_different_lengths_get_what_the_network_says(rng):
    network = rnn(dtype="float64")
    given = []
    for n in range(60):
        series = rng.standard_normal((1 + n % 2, 3, 2 + n % 3))
        mask = np.ones((len(series), series.shape[2])) if n % 4 else None
        if mask is not None:
            mask[0, -1] = 0
        given.append((series, mask))
    with ParallelInference(network) as inference, ThreadPoolExecutor(16) as pool:
        found = list(
            pool.map(
                lambda each: inference.output(each[0], features_mask=each[1]), given
            )
        )
    for (series, mask), output in zip(given, found, strict=True):
        wanted = network.output(series, features_mask=mask)
        np.testing.assert_allclose(output, wanted, rtol=1e-12)


def test_a_graph_answers_with_a_list(rng):
    graph = two_in_two_out()
    features = [rng.standard_normal((2, 4)), rng.standard_normal((2, 2))]
    with ParallelInference(graph) as inference:
        found = inference.output(features)
    for output, wanted in zip(found, graph.output(features), strict=True):
        np.testing.assert_array_equal(output, wanted)


@pytest.mark.parametrize(
    ("mode", "wanted"), [("batched", [1, 4, 2]), ("sequential", [1] * 7)]
)
def test_what_waits_is_joined_up_to_the_limit(mode, wanted, gate):
    inference = ParallelInference(mlp(), mode=mode, batch_limit=4)
    with inference, ThreadPoolExecutor(7) as pool:
        asked = [pool.submit(inference.output, np.zeros((1, 4)))]
        wait_until(lambda: gate.rows)
        asked += [pool.submit(inference.output, np.zeros((1, 4))) for _ in range(6)]
        wait_until(lambda: n_waiting(inference) == 6)
        gate.set()
        assert [len(future.result()) for future in asked] == [1] * 7
    assert gate.rows == wanted
    assert gate.threads == {"daskdl inference"}


def queues(inference):
    return [one._queue for one in inference._by_process.values()]


def n_waiting(inference):
    return sum(len(queue._waiting) for queue in queues(inference))


def n_without_room(inference):
    return sum(queue._n_without_room for queue in queues(inference))


def test_inplace_computes_in_the_thread_of_the_caller(gate):
    gate.set()
    with ParallelInference(mlp(), mode="inplace") as inference:
        inference.output(np.zeros((1, 4)))
    assert gate.threads == {threading.current_thread().name}


def test_a_full_queue_lets_callers_wait(gate):
    inference = ParallelInference(mlp(), queue_limit=2)
    with inference, ThreadPoolExecutor(6) as pool:
        asked = [pool.submit(inference.output, np.zeros((1, 4)))]
        wait_until(lambda: gate.rows)
        asked += [pool.submit(inference.output, np.zeros((1, 4))) for _ in range(5)]
        wait_until(lambda: n_without_room(inference) == 3)
        assert n_waiting(inference) == 2
        gate.set()
        assert [len(future.result()) for future in asked] == [1] * 6


@pytest.mark.parametrize("mode", MODES)
def test_errors_reach_who_made_them(mode, rng):
    network, good = mlp(), rng.standard_normal((1, 4))
    wrong = {ShapeError: np.zeros((1, 3)), DataError: np.full((1, 4), np.inf)}

    def ask(n):
        kind = [ShapeError, DataError, None][n % 3]
        if kind is None:
            return inference.output(good)
        with pytest.raises(kind):
            inference.output(wrong[kind])
        return None

    inference = ParallelInference(network, mode=mode)
    with inference, ThreadPoolExecutor(9) as pool:
        found = list(pool.map(ask, range(90)))[2::3]
    for output in found:
        np.testing.assert_allclose(output, network.output(good), rtol=1e-6)


@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_lost_while_models_are_swapped(mode):
    """Networks that say how old they are: nobody hears of one that is gone."""
    networks = [numbered(n) for n in range(101)]
    features, swapped = np.zeros((1, 4)), 0

    def ask():
        found = []
        while swapped < 100:
            before = swapped
            found.append((before, float(inference.output(features)[0, 0]), swapped))
        return found

    with ParallelInference(networks[0], mode=mode) as inference:
        with ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(ask) for _ in range(4)]
            for network in networks[1:]:
                inference.update_model(network)
                swapped += 1
                time.sleep(0.0001)
            answers = [each for future in asked for each in future.result()]
        assert inference.network is networks[100]
        assert inference.output(features)[0, 0] == 100
    assert answers
    for before, answer, after in answers:
        # One is there a moment before it is counted.
        assert before <= answer <= after + 1


def numbered(n):
    """Return a network whose output is always this number."""
    output = Output(n_out=1, activation="identity", loss="mse")
    network = sequence(FeedForward(size=4), output, dtype="float64")
    network.params[...] = 0
    network.param_table()["0_b"][...] = n
    return network


def test_the_new_network_may_take_other_data(rng):
    with ParallelInference(mlp()) as inference:
        inference.output(np.zeros((1, 4)))
        inference.updateModel(rnn())
        assert inference.output(np.zeros((1, 3, 6))).shape == (1, 2, 6)


def test_what_came_before_is_answered_by_the_network_that_was_there(gate):
    inference = ParallelInference(numbered(1))
    with inference, ThreadPoolExecutor(2) as pool:
        asked = pool.submit(inference.output, np.zeros((1, 4)))
        wait_until(lambda: gate.rows)
        inference.update_model(numbered(2))
        gate.set()
        assert asked.result() == 1
        assert inference.output(np.zeros((1, 4))) == 2


def test_training_changes_answers(rng):
    network, batch = mlp(), rows(rng)
    with ParallelInference(network) as inference:
        before = inference.output(batch.features)
        network.fit(batch)
        after = inference.output(batch.features)
    assert np.abs(before - after).max() > 0
    np.testing.assert_array_equal(after, network.output(batch.features))


def test_classes_are_predicted_by_name(rng):
    network, batch = mlp(), rows(rng)
    network.class_names = ["red", "green", "blue"]
    with ParallelInference(network) as inference:
        found = inference.predict(batch.features)
    np.testing.assert_array_equal(found, network.predict(batch.features))


def test_several_outputs_are_predicted(rng):
    graph = two_in_two_out()
    features = [rng.standard_normal((2, 4)), rng.standard_normal((2, 2))]
    with ParallelInference(graph) as inference:
        found = inference.predict(features)
    for one, wanted in zip(found, graph.predict(features), strict=True):
        np.testing.assert_array_equal(one, wanted)


def test_the_close_answers_who_waits(gate):
    inference = ParallelInference(mlp())
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(inference.output, np.zeros((1, 4)))]
        wait_until(lambda: gate.rows)
        asked += [pool.submit(inference.output, np.zeros((1, 4))) for _ in range(3)]
        wait_until(lambda: n_waiting(inference) == 3)
        closing = threading.Thread(target=inference.close)
        closing.start()
        gate.set()
        assert [len(future.result()) for future in asked] == [1] * 4
        closing.join()


@pytest.mark.parametrize("mode", MODES)
def test_who_comes_behind_the_close_is_refused(mode):
    inference = ParallelInference(mlp(), mode=mode)
    inference.output(np.zeros((1, 4)))
    inference.close()
    inference.close()
    for late in (
        lambda: inference.output(np.zeros((1, 4))),
        lambda: inference.update_model(mlp()),
    ):
        with pytest.raises(OptionError, match="must be open to answer, but it was clo"):
            late()


def test_who_waits_for_room_at_the_close_is_answered(gate):
    inference = ParallelInference(mlp(), queue_limit=1)
    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(inference.output, np.zeros((1, 4)))]
        wait_until(lambda: gate.rows)
        asked += [pool.submit(inference.output, np.zeros((1, 4))) for _ in range(2)]
        wait_until(lambda: n_without_room(inference) == 1)
        closing = threading.Thread(target=inference.close)
        closing.start()
        wait_until(lambda: all(queue._is_closed for queue in queues(inference)))
        gate.set()
        assert [future.exception() for future in asked] == [None, None, None]
        closing.join()
    with pytest.raises(OptionError, match="was closed"):
        inference.output(np.zeros((1, 4)))


def test_what_ends_a_thread_ends_no_other_answers(monkeypatch, rng):
    """As a layer that calls sys.exit."""
    network, forward = mlp(), Program.forward

    def leaves(self, features, *args, **options):
        if (features[0] > 100).any():
            raise SystemExit(3)
        return forward(self, features, *args, **options)

    monkeypatch.setattr(Program, "forward", leaves)
    with ParallelInference(network) as inference, ThreadPoolExecutor(8) as pool:
        with pytest.raises(SystemExit):
            inference.output(np.full((1, 4), 101.0))
        found = list(pool.map(inference.output, [np.zeros((1, 4))] * 20))
    assert len(found) == 20


def test_blas_has_its_threads_once_nobody_asks():
    before = blas_threads()
    with ParallelInference(mlp()) as inference, ThreadPoolExecutor(8) as pool:
        list(pool.map(inference.output, [np.zeros((1, 4))] * 80))
        wait_until(lambda: blas_threads() == before)


def blas_threads():
    return {i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "fast"}, "mode must be one of 'batched', 'inplace', 'sequential'"),
        ({"mode": "batch"}, "Did you mean 'batched'"),
        ({"batch_limit": 0}, "batch_limit must be a whole number > 0, got 0"),
        ({"queue_limit": 1.5}, "queue_limit must be a whole number > 0, got 1.5"),
        ({"workers": 2}, r"got 'workers'\. One thread .* network.threads"),
        ({"inferenceMode": "BATCHED"}, "got 'inferenceMode'. It is called mode here"),
        ({"load_balance_mode": "FIFO"}, "There is one queue"),
        ({"batchLimit": 8}, "got 'batchLimit'. It is written 'batch_limit'"),
        ({"layerIndicesOutputTo": [1]}, "Make a ComputationGraph"),
        ({"batch_limits": 8}, "Did you mean 'batch_limit'"),
    ],
)
def test_options_are_refused_by_name(options, message):
    with pytest.raises(OptionError, match=f"^ParallelInference: .*{message}"):
        ParallelInference(mlp(), **options)


def test_modes_are_taken_in_the_spelling_of_dl4j():
    with ParallelInference(mlp(), mode="SEQUENTIAL") as inference:
        assert inference.output(np.zeros((1, 4))).shape == (1, 3)


@pytest.mark.parametrize(
    "call", [ParallelInference, ParallelInference(mlp()).update_model]
)
def test_what_is_no_network_is_refused(call):
    with pytest.raises(OptionError, match="network must be a Network, got str"):
        call("model.zip")


@needs_fork
def test_a_forked_copy_has_a_thread_of_its_own():
    """In a process of its own: with threads of many packages a fork may hang."""
    here = f"from {__name__} import ask_in_a_fork as run; run()"
    command = [sys.executable, "-W", "ignore", "-c", here]
    assert subprocess.run(command, cwd=ROOT, timeout=200, check=False).returncode == 3


def ask_in_a_fork():
    """End with the number of outputs that the copy got."""
    inference = ParallelInference(mlp())
    inference.output(np.zeros((1, 4)))
    pid = os.fork()
    if pid == 0:
        n_outputs = 0
        try:
            with inference:
                n_outputs = inference.output(np.zeros((1, 4))).shape[1]
        finally:
            os._exit(n_outputs)
    os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

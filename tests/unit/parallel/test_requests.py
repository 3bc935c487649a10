"""Requests that share a pass, and those that must not."""

import numpy as np
import pytest

from daskdl import (
    ComputationGraph,
    ComputationGraphConfiguration,
    DataError,
    FeedForward,
    NormalizerStandardize,
    Output,
    ShapeError,
    StackVertex,
)
from daskdl.nn.program import Program
from daskdl.parallel.requests import Answered, Request, answered
from tests.unit.networks.small import mlp, rnn, rows, two_in_two_out


@pytest.fixture
def passes(monkeypatch):
    """The rows of each pass of a test."""
    forward, found = Program.forward, []

    def noted(self, features, *args, **options):
        found.append(len(features[0]))
        return forward(self, features, *args, **options)

    monkeypatch.setattr(Program, "forward", noted)
    return found


def ask(network, features, mask=None):
    return Request(network, features, mask)


def results(requests):
    answered(requests, bool)
    return [request.result() for request in requests]


def test_requests_share_a_pass_and_each_gets_its_rows(rng, passes):
    network = mlp(dtype="float64")
    given = [rng.standard_normal((n, 4)) for n in (1, 3, 2)]
    found = results([ask(network, features) for features in given])
    assert passes == [6]
    for features, (output,) in zip(given, found, strict=True):
        np.testing.assert_allclose(output, network.output(features), rtol=1e-12)


def test_answers_are_no_views_of_what_others_got(rng):
    network = mlp()
    found = results([ask(network, rng.standard_normal((2, 4))) for _ in range(3)])
    assert all(output.base is None for (output,) in found)


def test_features_that_do_not_lie_row_by_row_are_joined(rng):
    network, columns = mlp(dtype="float64"), rng.standard_normal((4, 6))
    first, second = results([ask(network, columns.T), ask(network, columns.T[::2])])
    np.testing.assert_allclose(first[0], network.output(columns.T), rtol=1e-12)
    np.testing.assert_allclose(second[0], network.output(columns.T[::2]), rtol=1e-12)


def test_lists_of_rows_are_joined(passes):
    network = mlp()
    results([ask(network, [[1, 2, 3, 4]]), ask(network, [[4, 3, 2, 1], [0, 0, 0, 0]])])
    assert passes == [3]


def test_masks_are_joined(rng, passes):
    network = rnn(dtype="float64")
    series = [rng.standard_normal((n, 3, 5)) for n in (2, 1)]
    masks = [np.array([[1, 1, 0, 0, 0], [1, 1, 1, 1, 1]]), np.array([[1, 1, 1, 0, 0]])]
    asked = [ask(network, x, mask) for x, mask in zip(series, masks, strict=True)]
    found = results(asked)
    assert passes == [3]
    for x, mask, (output,) in zip(series, masks, found, strict=True):
        wanted = network.output(x, features_mask=mask)
        np.testing.assert_allclose(output, wanted, rtol=1e-12)


def test_several_inputs_and_outputs_are_joined(rng, passes):
    graph = two_in_two_out(dtype="float64")
    given = [[rng.standard_normal((n, width)) for width in (4, 2)] for n in (1, 4)]
    found = results([ask(graph, features) for features in given])
    assert passes == [5]
    for features, outputs in zip(given, found, strict=True):
        for output, wanted in zip(outputs, graph.output(features), strict=True):
            np.testing.assert_allclose(output, wanted, rtol=1e-12)


def test_a_normalizer_is_applied_once(rng):
    network = mlp(dtype="float64")
    network.fit(rows(rng), normalizer=NormalizerStandardize())
    given = [rng.standard_normal((2, 4)) * 50 for _ in range(2)]
    found = results([ask(network, features) for features in given])
    for features, (output,) in zip(given, found, strict=True):
        np.testing.assert_allclose(output, network.output(features), rtol=1e-12)


SERIES = np.zeros((1, 3, 5))
APART = {
    "lengths": ((SERIES, None), (np.zeros((1, 3, 4)), None)),
    "masks": ((SERIES, None), (SERIES, np.ones((1, 5)))),
    "dtypes": ((SERIES, None), (SERIES.astype(int), None)),
    "dtypes of masks": ((SERIES, np.ones((1, 5))), (SERIES, np.ones((1, 5), bool))),
}


@pytest.mark.parametrize("case", APART)
def test_what_differs_is_not_joined(case):
    network = rnn()
    one, other = (ask(network, *given) for given in APART[case])
    assert not one.goes_with(other)


def test_requests_of_different_networks_are_not_joined():
    features = np.zeros((1, 4))
    assert not ask(mlp(), features).goes_with(ask(mlp(), features))


def test_inputs_of_different_numbers_of_examples_are_not_joined():
    graph = two_in_two_out()
    uneven = [ask(graph, [np.zeros((2, 4)), np.zeros((1, 2))]) for _ in range(2)]
    assert not uneven[0].goes_with(uneven[1])


def test_what_does_not_fit_is_refused_before_it_waits():
    with pytest.raises(ShapeError, match=r"must have shape \(batch, 4\), got \(1, 5\)"):
        ask(mlp(), np.zeros((1, 5)))


def test_who_asks_with_nan_gets_the_error_and_nobody_else_does(rng):
    network = mlp()
    good, bad = rng.standard_normal((2, 4)), np.full((1, 4), np.nan)
    asked = [ask(network, features) for features in (good, bad, good)]
    answered(asked, bool)
    with pytest.raises(DataError, match="finite numbers, got nan in row 0, column 0"):
        asked[1].result()
    for request in (asked[0], asked[2]):
        np.testing.assert_array_equal(request.result()[0], network.output(good))


def stacked():
    """Return a network that makes two rows of each."""
    return ComputationGraph(
        ComputationGraphConfiguration(
            inputs={"a": FeedForward(size=3), "b": FeedForward(size=3)},
            vertices={
                "s": StackVertex(inputs=["a", "b"]),
                "o": Output(n_out=2, inputs=["s"]),
            },
            outputs=["o"],
        )
    )


def test_a_network_that_makes_more_rows_has_a_pass_for_each(rng, passes):
    graph = stacked()
    given = [[rng.standard_normal((1, 3)) for _ in range(2)] for _ in range(2)]
    found = results([ask(graph, features) for features in given])
    assert passes == [2, 1, 1]
    for features, (output,) in zip(given, found, strict=True):
        np.testing.assert_array_equal(output, graph.output(features))


def test_callers_wake_one_another():
    network = mlp()
    asked = [ask(network, np.zeros((1, 4))) for _ in range(3)]
    answered(asked, bool).wake_one()
    assert [len(request.wait()) for request in asked] == [1, 1, 1]


def test_those_behind_one_who_wakes_nobody_can_be_woken():
    network = mlp()
    asked = [ask(network, np.zeros((1, 4))) for _ in range(3)]
    done = answered(asked, bool)
    done.wake_one()
    done.wake_all()
    assert [len(request.wait()) for request in asked[1:]] == [1, 1]
    assert not done.wake_one()


def test_nobody_is_woken_of_nobody():
    assert not Answered().wake_one()

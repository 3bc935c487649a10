"""Sums of vectors that are looked up, made by the look-up, and the same without."""

import numpy as np
import pytest

from daskdl import DataSet, EmbeddingSequence, GlobalPooling, Output
from daskdl.nn.conf.input_type import Recurrent
from tests.unit.networks.fusion_cases import (
    SGD,
    both_backends,
    both_types,
    handed_through,
)
from tests.unit.networks.small import sequence

N_WORDS = 11
# Steps that go through in fours, and one behind them.
N_STEPS = 9


def network_of(pooling="avg", words=None, **options):
    return sequence(
        Recurrent(size=1),
        EmbeddingSequence(n_in=N_WORDS, n_out=6, **(words or {})),
        GlobalPooling(pooling_type=pooling),
        Output(n_out=3),
        updater=SGD,
        **options,
    )


def batch_of(rng, *, n=5, is_masked=False):
    words = rng.integers(0, N_WORDS, (n, N_STEPS)).astype("f4")
    mask = np.ones((n, N_STEPS), "f4")
    mask[1:, -2:] = 0
    labels = np.eye(3, dtype="f4")[rng.integers(0, 3, n)]
    return DataSet(words, labels, mask if is_masked else None)


@both_backends
@both_types
@pytest.mark.parametrize("is_masked", [False, True])
@pytest.mark.parametrize("pooling", ["avg", "sum"])
def test_results_are_those_of_a_network_without_to_the_last_bit(
    rng, monkeypatch, unfused, pooling, is_masked, dtype, backend
):
    monkeypatch.setenv("DASKDL_BACKEND_PRIORITY_CPU", backend)
    network = network_of(pooling, dtype=dtype)
    batch = batch_of(rng, is_masked=is_masked)
    network.fit([batch, batch_of(rng, n=2, is_masked=is_masked)])
    plain = unfused(network)
    network.compute_gradients(batch)
    plain.compute_gradients(batch)
    np.testing.assert_array_equal(network.gradients, plain.gradients)
    asked = {"features_mask": batch.features_mask}
    np.testing.assert_array_equal(
        network.output(batch.features, **asked), plain.output(batch.features, **asked)
    )


@pytest.mark.parametrize("pooling", ["avg", "sum"])
def test_a_pooling_leaves_its_sums_to_the_look_up(pooling):
    assert handed_through(network_of(pooling)) == ["layer1"]


@pytest.mark.parametrize(
    "options",
    [
        {"pooling": "max"},
        {"pooling": "pnorm"},
        {"words": {"activation": "tanh"}},
        {"words": {"has_bias": True}},
        {"words": {"dropout": {"type": "gaussian_dropout", "rate": 0.2}}},
    ],
    ids=str,
)
def test_but_not_what_is_no_sum_of_rows(options):
    assert handed_through(network_of(**options)) == []


def test_vectors_are_never_copied(rng):
    network, n = network_of(), 4000
    batch = batch_of(rng, n=n)
    network.fit(batch)
    network.output(batch.features)
    assert network.workspace.nbytes < n * N_STEPS * 6 * network.dtype.itemsize

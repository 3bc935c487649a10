"""Workers that average gradients of low rank, as real processes."""

import numpy as np
import pytest

from daskdl.cluster.frontend import DaskMultiLayer
from daskdl.cluster.masters.options import (
    AllReduceTrainingMaster,
    PowerSGDTrainingMaster,
)

FULL = PowerSGDTrainingMaster(
    matrix_rank=1000, start_compress_iteration=0, min_compression_rate=0.1
)


@pytest.fixture(scope="module")
def client(module_cluster_of):
    return module_cluster_of(2)


def fitted(client, network, data, master, **options):
    front = DaskMultiLayer(client, network, master)
    front.fit(data, **{"epochs": 3, "batch_size": 16, "shuffle": False, **options})
    return front


@pytest.mark.parametrize("rows", [320, 333])
def test_full_rank_trains_as_whole_gradients_do(client, blobs, network, rows):
    """Also batch normalization, and one that has no minibatch left."""
    ends = [
        fitted(client, network(batch_norm=True, dtype="float64"), blobs(rows), master)
        for master in (FULL, AllReduceTrainingMaster())
    ]
    factors, whole = (front.network.params for front in ends)
    np.testing.assert_allclose(factors, whole, rtol=0, atol=1e-10)


def test_low_rank_learns_from_shorter_messages(client, blobs, network):
    """Matrices of 16 x 24 and 24 x 4: 68 numbers at rank 1 instead of 480."""
    master = PowerSGDTrainingMaster(
        matrix_rank=1, start_compress_iteration=0, min_compression_rate=1.0
    )
    ends = [
        fitted(client, network(), blobs(2000), each, epochs=8)
        for each in (master, AllReduceTrainingMaster())
    ]
    low, whole = (front.evaluate(blobs(500, seed=1)).accuracy() for front in ends)
    assert low > whole - 0.03
    low, whole = (front.last_fit.bytes_sent for front in ends)
    # Messages of so few numbers are half headers.
    assert low < 0.6 * whole


def test_first_iterations_are_those_of_whole_gradients(client, blobs, network):
    """Ten of 16 rows on two workers, not one more."""
    options = {"epochs": 1, "batch_size": 8}
    master = PowerSGDTrainingMaster(matrix_rank=1, min_compression_rate=1.0)
    for rows, equal in ((160, True), (176, False)):
        ends = [
            fitted(client, network(), blobs(rows), each, **options).network.params
            for each in (master, AllReduceTrainingMaster())
        ]
        assert np.array_equal(*ends) is equal

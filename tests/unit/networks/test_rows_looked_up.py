"""Numbers that embedding layers cannot look up are refused before training."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.data.scan import scan_partition
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.errors import DataError
from tests.unit.networks.small import sequence

N = 12
CLASSES = np.arange(N) % 2
ONE = dl.FeedForward(size=1)
SERIES = dl.Recurrent(size=1)
TABLE = dl.Embedding(n_in=5, n_out=3)
STEPS = dl.EmbeddingSequence(n_in=5, n_out=3)
POOLED = (dl.GlobalPooling(), dl.Output(n_out=2))


def of_one(*layers):
    return sequence(ONE, *layers, dl.Output(n_out=2))


def graph():
    return dl.ComputationGraph(
        dl.ComputationGraphConfiguration(
            inputs={"in": ONE},
            vertices={
                "wide": dl.Embedding(n_in=9, n_out=3, inputs=["in"]),
                "narrow": dl.Embedding(n_in=5, n_out=3, inputs=["in"]),
                "out": dl.Output(n_out=2, inputs=["wide", "narrow"]),
            },
            outputs=["out"],
        )
    )


NETWORKS = {
    "embedding": (lambda: of_one(TABLE), (N, 1)),
    "frozen": (lambda: of_one(dl.Frozen(TABLE)), (N, 1)),
    "rows of numbers": (
        lambda: sequence(dl.FeedForward(size=4), STEPS, *POOLED),
        (N, 4),
    ),
    "series": (lambda: sequence(SERIES, STEPS, *POOLED), (N, 1, 4)),
    "series without their axis": (lambda: sequence(SERIES, STEPS, *POOLED), (N, 4)),
    "graph": (graph, (N, 1)),
}


def scanned(net, data):
    (partition,) = open_source(dl.DataSet(*data), SourceOptions()).partitions
    scan_partition(partition, statistics=False, check=net.partition_check(None))


CALLS = {
    "fit": lambda net, data: net.fit(data, batch_size=4),
    "daskdl.fit": lambda net, data: dl.fit(net, data, batch_size=4),
    "scan": scanned,
    "evaluate": lambda net, data: net.evaluate(data),
    "output": lambda net, data: net.output(data[0]),
}


@pytest.mark.parametrize("number", [7, -1, 1.5])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(("make", "shape"), NETWORKS.values(), ids=NETWORKS)
def test_what_is_no_row_is_refused(make, shape, call, number):
    net = make()
    before = net.params.copy()
    features = np.ones(shape)
    features[-1, ...] = number
    with pytest.raises(
        DataError, match=rf"features must be whole numbers from 0 to 4.*{number}.* 11\."
    ):
        call(net, (features, CLASSES))
    assert np.array_equal(net.params, before)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float64])
def test_rows_of_any_dtype_are_looked_up(dtype):
    net = of_one(TABLE).fit((np.ones((N, 1), dtype), CLASSES), batch_size=4)
    assert net.iteration_count == 3


def test_what_the_dtype_of_the_network_makes_a_row_is_one():
    nearly = np.full((N, 1), np.nextafter(4.0, 5.0))
    assert of_one(TABLE).fit((nearly, CLASSES), batch_size=4).iteration_count == 3


def test_numbers_that_a_normalizer_makes_rows_are_taken():
    scaler = dl.NormalizerMinMaxScaler(0, 4)
    features = np.where(CLASSES, 10.0, 20.0)[:, None]
    net = of_one(TABLE)
    dl.fit(net, (features, CLASSES), batch_size=4, normalizer=scaler)
    assert net.iteration_count == 3


def test_layers_between_may_make_rows_of_anything():
    net = of_one(dl.Activation(activation="relu"), TABLE)
    features = np.where(CLASSES, -7.0, 1.0)[:, None]
    assert net.fit((features, CLASSES), batch_size=4).iteration_count == 3


@pytest.fixture(scope="module")
def large():
    """Return networks of two more rows than float32 tells apart, by their dtype."""
    table = dl.Embedding(n_in=2**24 + 2, n_out=1, weight_init="zero")
    layers = [table, dl.Output(n_out=2)]
    return {
        dtype: dl.MultiLayerNetwork(
            dl.MultiLayerConfiguration(layers=layers, input=ONE, dtype=dtype)
        ).init()
        for dtype in ("float32", "float64")
    }


def column(number, dtype):
    return np.array([[0], [number]], dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_what_float32_takes_for_a_neighbour_is_refused(large, dtype):
    with pytest.raises(
        DataError, match=r"below 16777216 in float32 .* row 1.*float64'"
    ):
        large["float32"].output(column(2**24 + 1, dtype))


def test_float32_features_are_refused_by_a_network_of_float64(large):
    with pytest.raises(DataError, match="below 16777216 in float32"):
        large["float64"].output(column(2**24, "float32"))


@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_float64_finds_every_row(large, dtype):
    net = large["float64"]
    net.params[2**24 + 1] = 100
    try:
        same, other = net.output(column(2**24 + 1, dtype))
    finally:
        net.params[2**24 + 1] = 0
    assert not np.array_equal(same, other)


def test_numbers_that_float32_tells_apart_are_looked_up(large):
    assert large["float32"].output(column(2**24 - 1, "float32")).shape == (2, 2)


def test_float16_tells_fewer_rows_apart():
    net = of_one(dl.Embedding(n_in=2050, n_out=3))
    assert net.output(column(2047, "float16")).shape == (2, 2)
    with pytest.raises(DataError, match="below 2048 in float16"):
        net.output(column(2048, "float16"))
    assert net.output(column(2049, "int32")).shape == (2, 2)


def test_behind_other_layers_neighbours_are_refused_too():
    layers = [
        dl.Activation(activation="relu"),
        dl.Embedding(n_in=2**24 + 2, n_out=1, weight_init="zero"),
        dl.Output(n_out=2),
    ]
    net = sequence(ONE, *layers)
    with pytest.raises(DataError, match="below 16777216 in float32"):
        net.output(column(2**24 + 1, "int64"))

"""A mask that is not finite, or negative, is refused wherever one is taken."""

import numpy as np
import pytest

import daskdl
from daskdl import (
    LSTM,
    DataSet,
    Evaluation,
    GlobalPooling,
    MultiDataSet,
    MultiLayerConfiguration,
    MultiLayerNetwork,
    Output,
    Recurrent,
    RegressionEvaluation,
    RnnOutput,
)
from daskdl.data.scan import scan_partition
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.errors import DataError

CLASSES = np.array([[0, 1, 0, 1], [1, 1, 0, 0], [0, 0, 1, 1]])
SERIES = np.stack([np.sin(CLASSES + 1.0), np.cos(CLASSES + 1.0)], axis=1)


def network(*behind):
    layers = [LSTM(n_out=3), *(behind or [RnnOutput(n_out=2)])]
    return MultiLayerNetwork(
        MultiLayerConfiguration(input=Recurrent(size=2), layers=layers)
    )


def mask_with(value):
    mask = np.ones((3, 4))
    mask[1, 2] = value
    return mask


def labelled(value):
    return DataSet(SERIES, CLASSES, None, mask_with(value))


CALLS = {
    "fit": lambda net, data: net.fit(data),
    "fit of an iterable": lambda net, data: net.fit(iter([data])),
    "fit_minibatch": lambda net, data: net.fit_minibatch(data),
    "daskdl.fit": lambda net, data: daskdl.fit(net, data, batch_size=3),
    "evaluate": lambda net, data: net.evaluate(data),
    "score_examples": lambda net, data: net.score_examples(data),
    "compute_score": lambda net, data: net.compute_score(data),
}


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_mask_of_labels_must_be_finite(call, value):
    net = network()
    before = net.params.copy()
    with pytest.raises(DataError, match=r"labels_mask must hold finite .* in row 1"):
        call(net, labelled(value))
    assert np.array_equal(net.params, before)


BELOW_0 = r"must hold 0 for what is dropped, 1 for .*, got -1.0 in row"


@pytest.mark.parametrize("call", [key for key in CALLS if key != "fit_minibatch"])
@pytest.mark.parametrize("features", [True, False])
def test_mask_must_not_be_negative(call, features):
    """A single minibatch is not looked at: whoever gives many has them looked at."""
    net = network()
    before = net.params.copy()
    masks = (mask_with(-1), None) if features else (None, mask_with(-1))
    with pytest.raises(DataError, match=rf"mask {BELOW_0} 1, column 2"):
        CALLS[call](net, DataSet(SERIES, CLASSES, *masks))
    assert np.array_equal(net.params, before)


def test_mask_must_not_be_negative_to_predict():
    with pytest.raises(DataError, match=f"features_mask {BELOW_0} 1"):
        network().output(SERIES, features_mask=mask_with(-1))
    with pytest.raises(DataError, match=f"labels_mask {BELOW_0} 1"):
        network().output(SERIES, labels_mask=mask_with(-1))


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64])
def test_mask_may_be_of_any_dtype(dtype):
    data = DataSet(SERIES, CLASSES, None, mask_with(0).astype(dtype))
    assert np.isfinite(network().fit(data).score)


def test_mask_of_features_must_be_finite():
    net = network(GlobalPooling(), Output(n_out=2))
    with pytest.raises(DataError, match=r"features_mask must hold finite .* got nan"):
        net.output(SERIES, features_mask=mask_with(np.nan))


def test_mask_of_outputs_must_be_finite():
    with pytest.raises(DataError, match=r"labels_mask must hold finite .* got inf"):
        network().output(SERIES, labels_mask=mask_with(np.inf))


def test_mask_must_be_finite_to_pretrain():
    net = MultiLayerNetwork(
        MultiLayerConfiguration(
            input=daskdl.FeedForward(size=4),
            layers=[daskdl.AutoEncoder(n_out=3), Output(n_out=2)],
        )
    )
    data = DataSet(np.ones((3, 4)), np.eye(3)[:, :2], None, [[1.0], [np.nan], [1.0]])
    with pytest.raises(DataError, match=r"labels_mask must hold finite .* row 1"):
        net.pretrain(data)


@pytest.mark.parametrize("evaluation", [Evaluation, RegressionEvaluation])
def test_mask_must_be_finite_where_evaluations_are_given_one(evaluation):
    rows = np.eye(3)
    with pytest.raises(DataError, match=r"mask must hold finite numbers, got nan"):
        evaluation().eval(rows, rows, np.array([1.0, np.nan, 0.0]))


def test_mask_must_not_be_negative_where_evaluations_are_given_one():
    with pytest.raises(DataError, match=f"mask {BELOW_0} 1"):
        Evaluation().eval(np.eye(3), np.eye(3), np.array([1.0, -1.0, 0.0]))


@pytest.mark.parametrize("check", [None, network().partition_check(None)])
def test_scan_refuses_masks_that_are_not_finite(check):
    examples = MultiDataSet.of(labelled(np.nan))
    (partition,) = open_source(examples, SourceOptions()).partitions
    with pytest.raises(DataError, match=r"labels_mask must hold finite .* got nan"):
        scan_partition(partition, statistics=False, check=check)
    examples = MultiDataSet.of(labelled(-1))
    (partition,) = open_source(examples, SourceOptions()).partitions
    with pytest.raises(DataError, match=f"labels_mask {BELOW_0} 1"):
        scan_partition(partition, statistics=False, check=check)


def test_fractions_weigh_still():
    scores = network().score_examples(labelled(0.5))
    full = network().score_examples(labelled(1.0))
    assert scores[1] < full[1]

"""Labels that a loss does not take are refused before anything is trained on."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.data.scan import scan_partition
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.errors import DataError
from tests.unit.networks.small import sequence

ROWS = np.linspace(-1, 1, 24).reshape(6, 4)
BITS = np.array([1, 0, 1, 1, 0, 1])
# Loss, activation, and labels of which those of rows 1 and 4 are none.
WRONG = {
    "poisson": ("softplus", np.where(BITS, 3, -1)),
    "msle": ("softplus", np.where(BITS, 3, -1)),
    "mape": ("identity", BITS),
    "kl_divergence": ("sigmoid", np.where(BITS, 0.5, -0.5)),
    "xent": ("sigmoid", np.where(BITS, 1, 2)),
    "hinge": ("identity", BITS),
    "squared_hinge": ("tanh", BITS),
    "fmeasure": ("sigmoid", np.where(BITS, 1, -1)),
}


def network(loss):
    output = dl.Output(n_out=1, loss=loss, activation=WRONG[loss][0])
    return sequence(dl.FeedForward(size=4), dl.Dense(n_out=3), output)


def scanned(net, data):
    (partition,) = open_source(dl.DataSet(*data), SourceOptions()).partitions
    scan_partition(partition, statistics=False, check=net.partition_check(None))


CALLS = {
    "fit": lambda net, data: net.fit(data, batch_size=2),
    "fit of an iterable": lambda net, data: net.fit(iter([data])),
    "fit_minibatch": lambda net, data: net.fit_minibatch(data),
    "daskdl.fit": lambda net, data: dl.fit(net, data, batch_size=2),
    "compute_score": lambda net, data: net.compute_score(data),
    "scan": scanned,
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("loss", WRONG)
def test_what_is_no_label_is_refused(loss, call):
    net = network(loss)
    before = net.params.copy()
    with pytest.raises(DataError, match=rf"of the loss '{loss}' must .* in row 1\."):
        call(net, (ROWS, WRONG[loss][1]))
    assert np.array_equal(net.params, before)


@pytest.mark.parametrize("loss", WRONG)
def test_what_a_mask_drops_may_be_anything(loss):
    net = network(loss)
    mask = BITS[:, None].astype(float)
    labels = np.where(BITS, np.abs(WRONG[loss][1]), np.nan)
    net.fit(dl.DataSet(ROWS, labels, None, mask), batch_size=3)
    dl.fit(net, dl.DataSet(ROWS, labels, None, mask), batch_size=3)
    assert np.isfinite(net.params).all()


def test_series_with_the_features_first_are_looked_at_step_by_step():
    output = dl.RnnOutput(n_out=1, loss="hinge", activation="identity")
    net = sequence(dl.Recurrent(size=2), dl.LSTM(n_out=3), output)
    labels, mask = np.ones((3, 1, 4)), np.ones((3, 4))
    labels[2, 0, 1:] = 0
    mask[2, 1:] = 0
    net.fit(dl.DataSet(np.ones((3, 2, 4)), labels, None, mask))
    mask[2, 1] = 0.5
    with pytest.raises(DataError, match=r"'hinge' must be -1 or 1, got 0.0 in row 2"):
        net.fit(dl.DataSet(np.ones((3, 2, 4)), labels, None, mask))


def test_labels_are_what_the_normalizer_makes_of_them():
    net = network("poisson")
    prices = np.array([[-30.0], [5.0], [20.0], [70.0], [-10.0], [0.0]])
    scaler = dl.NormalizerMinMaxScaler(fit_label=True)
    net.fit((ROWS, prices), batch_size=3, normalizer=scaler)
    assert np.isfinite(net.params).all()
    other = network("poisson")
    with pytest.raises(DataError, match=r"'poisson' must not be negative, got -"):
        other.fit(
            (ROWS, prices),
            batch_size=6,
            normalizer=dl.NormalizerStandardize(fit_label=True),
        )

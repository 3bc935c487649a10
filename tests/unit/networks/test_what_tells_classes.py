"""What cannot tell classes, or would spoil them, is refused before training."""

import copy
import pickle

import numpy as np
import pytest

import daskdl as dl
from daskdl.errors import DataError, OptionError
from daskdl.nn.fitting.preparation import prepare
from daskdl.training.state import network_from_state, state_of
from tests.unit.networks.small import sequence, two_in_two_out

ROWS = np.linspace(-1, 1, 24).reshape(6, 4)
BITS = np.array([1, 0, 1, 1, 0, 1])
LOSSES = {
    "mcxent": (2, "softmax"),
    "negativeloglikelihood": (2, "softmax"),
    "sparse_mcxent": (2, "softmax"),
    "xent": (1, "sigmoid"),
    "kl_divergence": (2, "softmax"),
    "multilabel": (2, "sigmoid"),
    "fmeasure": (1, "sigmoid"),
    "hinge": (1, "tanh"),
    "squared_hinge": (1, "tanh"),
}


def network(loss, n_out, activation, **options):
    output = dl.Output(n_out=n_out, loss=loss, activation=activation)
    return sequence(dl.FeedForward(size=4), dl.Dense(n_out=3), output, **options)


def of_labels():
    normalizer = dl.NormalizerStandardize(fit_label=True)
    return normalizer.fit(dl.DataSet(ROWS, BITS[:, None]))


def spoiled():
    """A network that holds what it could not be given."""
    made = network("mcxent", 2, "softmax")
    data = dl.DataSet(ROWS, np.eye(2)[BITS])
    made.restore_normalizer(dl.NormalizerStandardize(fit_label=True).fit(data))
    return made


def given(net, normalizer):
    net.normalizer = normalizer


CALLS = {
    "set": given,
    "fit": lambda net, one: net.fit((ROWS, BITS), batch_size=3, normalizer=one),
    "daskdl.fit": lambda net, one: dl.fit(
        net, (ROWS, BITS), batch_size=3, normalizer=one
    ),
    "cluster": lambda net, one: prepare(
        net, dl.DataSet(ROWS, BITS), batch_size=3, normalizer=one
    ),
    "pre_processor": lambda net, one: dl.fit(
        net, (ROWS, BITS), batch_size=3, pre_processor=[one]
    ),
    "in another": lambda net, one: dl.fit(
        net,
        (ROWS, BITS),
        batch_size=3,
        pre_processor=dl.CompositeDataSetPreProcessor(one),
    ),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("loss", LOSSES)
def test_normalizers_leave_classes_as_they_are(loss, call):
    with pytest.raises(OptionError, match=rf"must leave labels of the loss '{loss}'"):
        call(network(loss, *LOSSES[loss]), of_labels())


def test_what_leaves_labels_alone_is_taken():
    net = network("mcxent", 2, "softmax")
    net.fit((ROWS, BITS), batch_size=3, normalizer=dl.NormalizerStandardize())
    assert net.normalizer.is_fitted


def test_of_several_outputs_only_those_of_numbers_are_normalized():
    graph = two_in_two_out()
    graph.normalizer = dl.MultiNormalizerHybrid().standardize_output(0)
    with pytest.raises(OptionError, match=r"must leave labels\[1\] of the loss 'mcx"):
        graph.normalizer = dl.MultiNormalizerHybrid().standardize_output(1)


def test_pixels_of_labels_are_scaled_for_xent():
    net = network("xent", 1, "sigmoid")
    scaler = dl.ImagePreProcessingScaler().fit_label()
    net.fit((ROWS, BITS * 255.0), batch_size=6, normalizer=scaler)
    with pytest.raises(DataError, match=r"'xent' must be from 0 to 1, got 2.0 in row"):
        net.fit((ROWS, BITS * 510.0), batch_size=6)


@pytest.mark.parametrize("name", ["m.zip", "m.safetensors"])
def test_a_file_that_holds_one_is_read_with_a_warning(name, tmp_path):
    spoiled().save(tmp_path / name)
    with pytest.warns(UserWarning, match=r"changes labels of the loss 'mcxent', which"):
        read = dl.load(tmp_path / name)
    np.testing.assert_array_equal(read.output(ROWS), spoiled().output(ROWS))
    with pytest.raises(OptionError, match=r"fit: normalizer must leave labels of the"):
        read.fit((ROWS, BITS), batch_size=3)


def test_copies_keep_it():
    net = spoiled()
    copies = [
        net.clone(),
        copy.deepcopy(net),
        pickle.loads(pickle.dumps(net)),
        network_from_state(state_of(net)),
    ]
    assert all(each.normalizer.is_fit_label for each in copies)


ONE_NUMBER = {
    "mcxent": "softmax",
    "negativeloglikelihood": "sigmoid",
    "sparse_mcxent": "softmax",
    "xent": "softmax",
}


@pytest.mark.parametrize("call", ["fit", "daskdl.fit", "cluster"])
@pytest.mark.parametrize("loss", ONE_NUMBER)
def test_one_number_tells_no_classes(loss, call):
    net = network(loss, 1, ONE_NUMBER[loss], validate_output_layer=False)
    with pytest.raises(OptionError, match=r"n_out of an output with .* at least 2, on"):
        CALLS[call](net, None)


def test_one_number_tells_two_classes_by_a_sigmoid():
    net = network("xent", 1, "sigmoid").fit((ROWS, BITS), batch_size=3)
    assert np.isfinite(net.score)

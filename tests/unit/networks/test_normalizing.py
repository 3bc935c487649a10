"""A network that has a normalizer applies it to whatever it is given, once."""

import copy
import inspect
import pickle

import numpy as np
import pytest

import daskdl as dl
from daskdl.errors import OptionError, ShapeError
from daskdl.nn.network import Network
from tests.unit.networks.small import mlp, rnn, sequence, two_in_two_out


def far(rng, *shape):
    """Features that no network should see as they are."""
    return rng.normal(500, 100, shape).astype(np.float32)


def classes(rng, n, n_classes):
    return np.eye(n_classes, dtype=np.float32)[rng.integers(0, n_classes, n)]


def rows(rng):
    return mlp(), dl.DataSet(far(rng, 12, 4), classes(rng, 12, 3))


def autoencoder(rng):
    network = sequence(
        dl.FeedForward(size=4),
        dl.AutoEncoder(n_out=3, loss="mse"),
        dl.Output(n_out=3),
    )
    return network, rows(rng)[1]


def series(rng):
    labels = np.moveaxis(classes(rng, (6, 5), 2), -1, 1)
    mask = np.ones((6, 5), np.float32)
    mask[2, 3:] = 0
    return rnn(), dl.DataSet(far(rng, 6, 3, 5), labels, mask, mask)


def segments(rng):
    options = {"backprop_type": "truncated_bptt", "tbptt_fwd_length": 2}
    return rnn(**options), series(rng)[1]


def images(rng):
    network = sequence(
        dl.Convolutional(height=4, width=4, channels=2),
        dl.Convolution2D(n_out=3, kernel_size=(3, 3)),
        dl.Output(n_out=3),
    )
    return network, dl.DataSet(far(rng, 6, 2, 4, 4), classes(rng, 6, 3))


def searched(rng):
    return mlp(optimization_algo="lbfgs"), rows(rng)[1]


def numbers(rng):
    """A regression whose labels are normalized, too."""
    network = sequence(
        dl.FeedForward(size=4),
        dl.Dense(n_out=5, activation="tanh"),
        dl.Output(n_out=2, loss="mse", activation="identity"),
        updater="adam",
    )
    return network, dl.DataSet(far(rng, 12, 4), far(rng, 12, 2))


def graph(rng):
    data = dl.MultiDataSet(
        [far(rng, 8, 4), far(rng, 8, 2)], [far(rng, 8, 1), classes(rng, 8, 3)]
    )
    return two_in_two_out(), data


CASES = [rows, series, segments, images, searched, numbers, graph]


def fitted(case, data):
    """A normalizer that fits the case."""
    if case is graph:
        hybrid = dl.MultiNormalizerHybrid().standardize_all_inputs()
        return hybrid.min_max_scale_output(0).fit(data)
    return dl.NormalizerStandardize(fit_label=case is numbers).fit(data)


@pytest.fixture(params=CASES, ids=lambda case: case.__name__)
def pair(request, rng):
    """A network with a normalizer, its data, the same without, and data made ready."""
    network, data = request.param(rng)
    bare = network.clone()
    network.normalizer = fitted(request.param, data)
    return network, data, bare, network.normalizer.transform(data)


def given(data):
    """Features and their masks as `output` takes them."""
    if isinstance(data, dl.DataSet):
        return data.features, data.features_mask
    return data.features, data.features_masks


def plain(network, data):
    features, mask = given(data)
    return network.output(features, features_mask=mask)


def steps(network, data):
    return network.rnn_time_step(given(data)[0])


def predictions(network, data):
    features, mask = given(data)
    return network.predict(features, features_mask=mask)


# What each method that takes data gives, as something to compare.
OF_BATCH = {
    "output": plain,
    "predict": predictions,
    "score_examples": lambda network, data: network.score_examples(data),
    "score_and_output": lambda network, data: network.score_and_output(data),
    "compute_score": lambda network, data: network.compute_score(data),
    "fit": lambda network, data: network.fit(data, epochs=2).params,
    "fit_minibatch": lambda network, data: (
        network.fit_minibatch(data),
        network.params,
    ),
    "train_minibatch": lambda network, data: (
        network.train_minibatch(data),
        network.params,
    ),
    "compute_gradients": lambda network, data: (
        network.compute_gradients(data),
        network.gradients,
    ),
    "check_batch": lambda network, data: network.check_batch(data),
}
ELSEWHERE = {
    "partition_check",
    "evaluate",
    "labels_to_count",
    "normalizing",
    "pretrain",
    "pretrain_layer",
    "restore_normalizer",
    "rnn_time_step",
    "segments",
}


def flat(value):
    if isinstance(value, list | tuple):
        return [array for each in value for array in flat(each)]
    return [] if value is None else [np.asarray(value)]


def units(network, value):
    """Expand what a network without normalizer predicts into the units of the data."""
    return network.normalizer.revert_labels(value)


@pytest.mark.parametrize("name", OF_BATCH)
def test_every_method_normalizes_once(pair, name):
    network, data, bare, ready = pair
    found = flat(OF_BATCH[name](network, data))
    expected = OF_BATCH[name](bare, ready)
    if name in ("output", "predict"):
        expected = units(network, expected)
    if name == "score_and_output":
        expected = (expected[0], units(network, expected[1]))
    for one, other in zip(found, flat(expected), strict=True):
        np.testing.assert_array_equal(one, other)


def test_every_method_that_takes_data_is_tried():
    taking = {
        name
        for name, method in inspect.getmembers(Network, inspect.isfunction)
        if not name.startswith("_")
        and not {"data", "batch", "features", "normalizer"}.isdisjoint(
            inspect.signature(method).parameters
        )
    }
    assert taking - {"save"} == OF_BATCH.keys() | ELSEWHERE


def test_none_switches_it_off_for_a_call(pair):
    network, _, bare, ready = pair
    features, mask = given(ready)
    found = network.output(features, features_mask=mask, normalizer=None)
    for one, other in zip(flat(found), flat(plain(bare, ready)), strict=True):
        np.testing.assert_array_equal(one, other)
    assert network.normalizer is not None


@pytest.mark.parametrize("name", ["score_examples", "score_and_output", "fit"])
def test_none_is_for_data_that_are_normalized_already(pair, name):
    network, _, bare, ready = pair
    found = getattr(network, name)(ready, normalizer=None)
    expected = getattr(bare, name)(ready)
    if name == "fit":
        found, expected = found.params, expected.params
    for one, other in zip(flat(found), flat(expected), strict=True):
        np.testing.assert_array_equal(one, other)


def test_another_normalizer_takes_its_place_for_a_call(rng):
    network, data = rows(rng)
    network.normalizer = dl.NormalizerMinMaxScaler().fit(data)
    other = dl.NormalizerStandardize().fit(data)
    found = network.output(data.features, normalizer=other)
    ready = other.transform(data).features
    np.testing.assert_array_equal(found, network.output(ready, normalizer=None))


def test_evaluations_are_those_of_the_outputs(rng):
    network, data = rows(rng)
    network.normalizer = dl.NormalizerStandardize().fit(data)
    hits = network.output(data.features).argmax(axis=1) == data.labels.argmax(axis=1)
    assert network.evaluate(data).accuracy() == hits.mean()


def test_regressions_are_evaluated_in_the_units_of_the_data(rng):
    network, data = numbers(rng)
    network.normalizer = dl.NormalizerStandardize(fit_label=True).fit(data)
    errors = np.abs(network.output(data.features) - data.labels).mean(axis=0)
    found = network.evaluate(data).mean_absolute_error()
    np.testing.assert_allclose(found, errors, rtol=1e-5)
    assert errors.min() > 10


def test_what_a_mask_drops_of_an_output_is_0_in_the_units_of_the_data(rng):
    network = sequence(
        dl.Recurrent(size=3),
        dl.LSTM(n_out=4),
        dl.RnnOutput(n_out=2, loss="mse", activation="identity"),
    )
    _, data = series(rng)
    labelled = dl.DataSet(data.features, far(rng, 6, 2, 5))
    network.normalizer = dl.NormalizerStandardize(fit_label=True).fit(labelled)
    found = network.output(data.features, labels_mask=data.labels_mask)
    assert not found[2, :, 3:].any()
    np.testing.assert_allclose(
        found[2, :, :3], network.output(data.features)[2, :, :3], rtol=1e-6
    )


@pytest.mark.parametrize("data_format", ["NCW", "NWC"])
def test_stretches_of_series_go_through_it(rng, data_format):
    network = rnn(data_format)
    last = data_format == "NWC"
    shape = (6, 5, 3) if last else (6, 3, 5)
    features = far(rng, *shape)
    axis = -1 if last else 1
    normalizer = dl.NormalizerStandardize(feature_axis=axis)
    network.normalizer = normalizer.fit(dl.DataSet(features))
    whole = network.output(features)
    first = network.rnn_time_step(features.take(0, axis=1 if last else 2))
    np.testing.assert_allclose(first, whole.take(0, axis=1 if last else 2), rtol=1e-5)


def test_pretraining_sees_what_the_network_sees(rng):
    network, data = autoencoder(rng)
    bare = network.clone()
    network.normalizer = dl.NormalizerStandardize().fit(data)
    network.pretrain(data, epochs=2)
    ready = network.normalizer.transform(data)
    np.testing.assert_array_equal(network.params, bare.pretrain(ready, epochs=2).params)
    again = network.pretrain_layer(0, ready, normalizer=None).params
    np.testing.assert_array_equal(again, bare.pretrain_layer(0, ready).params)


def test_fit_fits_what_has_learnt_nothing_and_keeps_it(rng):
    network, data = rows(rng)
    bare = network.clone()
    network.fit(data, normalizer=dl.NormalizerStandardize())
    ready = dl.NormalizerStandardize().fit(data).transform(data)
    np.testing.assert_array_equal(network.params, bare.fit(ready).params)
    assert network.normalizer.is_fitted


def test_fitting_a_normalizer_is_a_pass_over_the_data(rng):
    network, data = rows(rng)
    with pytest.raises(OptionError, match="read again for 2 passes"):
        network.fit(iter([data]), normalizer=dl.NormalizerStandardize())


def test_data_that_ask_the_network_while_it_is_trained_get_its_normalizer(rng):
    """The override is for the minibatch, not for whoever makes the next one."""
    network, data = rows(rng)
    network.normalizer = dl.NormalizerStandardize().fit(data)
    ready, seen = network.normalizer.transform(data), []

    def batches():
        for _ in range(2):
            seen.append(network.normalizer)
            yield ready

    network.fit(batches(), normalizer=None)
    assert seen == [network.normalizer] * 2


def test_an_error_leaves_the_normalizer_where_it_was(rng):
    network, data = rows(rng)
    network.normalizer = kept = dl.NormalizerStandardize().fit(data)
    wrong = dl.NormalizerStandardize().fit(dl.DataSet(far(rng, 5, 7)))
    with pytest.raises(ShapeError, match="features: must have 7 entries along axis 1"):
        network.output(data.features, normalizer=wrong)
    assert network.normalizer is kept


def test_what_is_no_normalizer_is_refused(rng):
    network, data = rows(rng)
    with pytest.raises(OptionError, match="normalizer must be a Normalizer, got"):
        network.normalizer = "standardize"
    with pytest.raises(OptionError, match="must be 'own', None or a normalizer, got"):
        network.output(data.features, normalizer="none")


def test_one_that_has_learnt_nothing_is_refused(rng):
    network, data = rows(rng)
    network.normalizer = dl.NormalizerStandardize()
    with pytest.raises(OptionError, match="must be fitted before it is used"):
        network.output(data.features)


@pytest.mark.parametrize(
    "copied",
    [lambda n: n.clone(), copy.deepcopy, lambda n: pickle.loads(pickle.dumps(n))],
)
def test_copies_have_a_normalizer_and_names_of_their_own(rng, copied):
    network, data = rows(rng)
    network.normalizer = dl.NormalizerStandardize().fit(data)
    network.class_names = ["a", "b", "c"]
    other = copied(network)
    before = network.output(data.features)
    np.testing.assert_array_equal(other.output(data.features), before)
    other.normalizer.fit(dl.DataSet(data.features * 2))
    np.testing.assert_array_equal(network.output(data.features), before)
    assert other.class_names == ("a", "b", "c")


def test_the_table_says_what_happens_to_the_data(rng):
    network, data = numbers(rng)
    assert "normalizer" not in network.summary()
    network.normalizer = dl.NormalizerStandardize(fit_label=True).fit(data)
    network.class_names = ["x", "y"]
    assert network.summary().splitlines()[-2:] == [
        "normalizer: NormalizerStandardize, labels too",
        "classes: x, y",
    ]
    network.normalizer = dl.NormalizerMinMaxScaler()
    assert "normalizer: NormalizerMinMaxScaler, not fitted yet" in network.summary()


def test_evaluations_print_the_names_of_classes(rng):
    network, data = rows(rng)
    network.class_names = ["ant", "bee", "cat"]
    assert "2 = cat" in network.evaluate(data).stats()


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "b"], "must be 3 different names, one a class, got 2"),
        (["a", "b", "b"], "must be 3 different names, one a class, got 3, of which 2"),
        ("abc", "must be texts in a list, got 'abc'"),
        ([1, 2, 3], r"must be texts in a list, got \[1, 2, 3\]"),
    ],
)
def test_wrong_names_of_classes_are_refused(names, message):
    with pytest.raises(OptionError, match=message):
        mlp().class_names = names

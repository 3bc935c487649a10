"""What a network takes: one rule for everything that is given arrays."""

import pickle
import warnings
from functools import partial

import numpy as np
import pytest

import daskdl as dl
from daskdl.errors import DataError, DivergedError, OptionError, ShapeError
from daskdl.nn import data_checks

N = 24


def rows(n_out, loss, activation, **options):
    return dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            seed=3,
            updater=dl.Sgd(learning_rate=0.1),
            input=dl.FeedForward(size=4),
            layers=[
                dl.Dense(n_out=5, activation="tanh"),
                dl.Output(n_out=n_out, loss=loss, activation=activation),
            ],
            **options,
        )
    )


def classifier(**options):
    return rows(3, "mcxent", "softmax", **options)


def by_numbers():
    return rows(3, "sparse_mcxent", "softmax")


def regression():
    return rows(1, "mse", "identity")


def binary():
    return rows(1, "xent", "sigmoid")


@pytest.fixture
def features(rng):
    return rng.standard_normal((N, 4))


@pytest.fixture
def classes(rng):
    return rng.integers(0, 3, N)


def trained(network, data):
    return network.fit(data, epochs=2, batch_size=8).params


def trained_by_the_loop(network, data):
    return dl.fit(network, data, epochs=2, batch_size=8).params


def evaluated(network, data):
    return network.evaluate(data).stats()


def scored(network, data):
    return network.compute_score(data)


def scored_each(network, data):
    return network.score_examples(data)


TAKERS = [trained, trained_by_the_loop, evaluated, scored, scored_each]
takers = pytest.mark.parametrize("take", TAKERS)


def same(one, other):
    if isinstance(one, str):
        assert one == other
    else:
        np.testing.assert_array_equal(one, other)


@takers
@pytest.mark.parametrize("make", [classifier, by_numbers])
@pytest.mark.parametrize("form", ["(batch,)", "(batch, 1)", "float", "bool"])
def test_numbers_of_classes_are_rows_of_0_and_1(take, make, form, features, classes):
    if form == "bool":
        classes = classes == 1
    numbers = classes.astype(np.float32) if form == "float" else classes
    given = numbers[:, None] if form == "(batch, 1)" else numbers
    wanted = np.eye(3)[classes.astype(int)]
    expected = take(classifier(), dl.DataSet(features, wanted))
    same(take(make(), dl.DataSet(features, given)), expected)


@takers
@pytest.mark.parametrize("make", [regression, binary])
def test_a_single_column_may_come_without_its_axis(take, make, features, classes):
    column = (classes > 0).astype(np.float64)
    expected = take(make(), dl.DataSet(features, column[:, None]))
    same(take(make(), dl.DataSet(features, column)), expected)


@takers
def test_labels_without_their_axis_are_normalized(take, features):
    def network():
        made = regression()
        made.normalizer = dl.NormalizerStandardize(fit_label=True).fit(
            (features, column)
        )
        return made

    column = 1000 + features.sum(axis=1)
    expected = take(network(), dl.DataSet(features, column[:, None]))
    same(take(network(), dl.DataSet(features, column)), expected)


@pytest.mark.parametrize("train", ["fit", "daskdl.fit"])
def test_a_normalizer_is_fitted_to_labels_without_their_axis(train, features):
    network, normalizer = regression(), dl.NormalizerStandardize(fit_label=True)
    data = dl.DataSet(features, features.sum(axis=1))
    if train == "fit":
        network.fit(data, batch_size=8, normalizer=normalizer)
    else:
        dl.fit(network, data, batch_size=8, normalizer=normalizer)
    np.testing.assert_allclose(normalizer.label_mean, [features.sum(axis=1).mean()])


@takers
def test_a_pair_of_arrays_is_a_data_set(take, features, classes):
    expected = take(classifier(), dl.DataSet(features, classes))
    same(take(classifier(), (features, classes)), expected)
    same(take(classifier(), (features.tolist(), classes.tolist())), expected)


def test_a_pair_is_not_trained_as_one_minibatch_by_accident(features, classes):
    with pytest.raises(OptionError, match="batch_size must be given for a pair of arr"):
        classifier().fit((features, classes))


def test_pairs_in_an_iterable_are_minibatches(features, classes):
    pairs = ((features[i : i + 8], classes[i : i + 8]) for i in range(0, N, 8))
    expected = trained(classifier(), dl.DataSet(features, classes))
    network = classifier()
    network.fit(list(pairs), epochs=2)
    np.testing.assert_array_equal(network.params, expected)


def test_classes_of_time_steps_may_be_numbers(rng):
    """As of rows: (batch, time) instead of (batch, classes, time)."""

    def network(loss):
        return dl.MultiLayerNetwork(
            dl.MultiLayerConfiguration(
                input=dl.Recurrent(size=2),
                layers=[dl.LSTM(n_out=3), dl.RnnOutput(n_out=3, loss=loss)],
            )
        )

    series = rng.standard_normal((6, 2, 5))
    numbers = rng.integers(0, 3, (6, 5))
    mask = np.ones((6, 5))
    mask[:, 3:] = 0
    # Padding has no class, and -1 is how it is often written.
    padded = np.where(mask == 1, numbers, -1)
    one_hot = np.eye(3)[numbers].transpose(0, 2, 1)
    wanted = dl.DataSet(series, one_hot, None, mask)
    for take in TAKERS:
        expected = take(network("mcxent"), wanted)
        for given in (numbers, numbers[:, None], padded):
            same(
                take(network("mcxent"), dl.DataSet(series, given, None, mask)), expected
            )
        same(
            take(network("sparse_mcxent"), dl.DataSet(series, numbers, None, mask)),
            expected,
        )


@pytest.mark.parametrize("loss", ["mcxent", "sparse_mcxent"])
def test_classes_of_series_of_different_lengths_may_be_numbers(rng, loss):
    def trained_by(fit, labels):
        network = dl.MultiLayerNetwork(
            dl.MultiLayerConfiguration(
                input=dl.Recurrent(size=2),
                layers=[dl.LSTM(n_out=3), dl.RnnOutput(n_out=3, loss=loss)],
            )
        )
        cut = [dl.DataSet(series[:, :, :n], labels[..., :n]) for n in (3, 5, 1)]
        fit(network, cut, batch_size=7)
        return network.params

    series, numbers = rng.standard_normal((6, 2, 5)), rng.integers(0, 3, (6, 5))
    wanted = np.eye(3)[numbers].transpose(0, 2, 1)
    if loss == "sparse_mcxent":
        wanted = numbers[:, None]
    for fit in (dl.MultiLayerNetwork.fit, dl.fit):
        same(trained_by(fit, numbers), trained_by(fit, wanted))


def test_classes_of_pixels_may_be_numbers(rng):
    network = dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            input=dl.Convolutional(height=3, width=4, channels=1),
            layers=[
                dl.Convolution2D(n_out=2, kernel_size=(1, 1)),
                dl.CnnLoss(loss="mcxent", activation="softmax"),
            ],
        )
    )
    images, numbers = rng.random((5, 3, 4)), rng.integers(0, 2, (5, 3, 4))
    expected = network.compute_score(
        dl.DataSet(images[:, None], np.eye(2)[numbers].transpose(0, 3, 1, 2))
    )
    assert network.compute_score((images, numbers)) == expected
    # Rows are images too, as they are for daskdl.fit.
    assert network.compute_score((images.reshape(5, 12), numbers)) == expected


def test_labels_of_several_outputs_have_each_their_form(features, classes):
    def network():
        vertices = {
            "hidden": dl.Dense(n_out=5, inputs=["x"]),
            "kind": dl.Output(n_out=3, loss="mcxent", inputs=["hidden"]),
            "size": dl.Output(
                n_out=1, loss="mse", activation="identity", inputs=["hidden"]
            ),
        }
        return dl.ComputationGraph(
            dl.ComputationGraphConfiguration(
                inputs={"x": dl.FeedForward(size=4)},
                vertices=vertices,
                outputs=["kind", "size"],
            )
        )

    sizes = features.sum(axis=1)
    wanted = dl.MultiDataSet([features], [np.eye(3)[classes], sizes[:, None]])
    given = dl.MultiDataSet([features], [classes, sizes])
    for take in (trained, trained_by_the_loop, scored, scored_each):
        same(take(network(), given), take(network(), wanted))


@takers
@pytest.mark.parametrize("wrong", [3, -1, 0.5, np.nan])
def test_what_is_no_class_is_refused(take, wrong, features, classes):
    numbers = classes.astype(np.float64)
    numbers[17] = wrong
    network = classifier()
    before = network.params.copy()
    with pytest.raises(DataError, match=r"labels must hold .* got .* in row 17"):
        take(network, dl.DataSet(features, numbers))
    np.testing.assert_array_equal(network.params, before)


def predicted(network, data):
    return network.output(data.features)


BAD = [np.nan, np.inf, -np.inf, 1e300]


@pytest.mark.parametrize("value", BAD)
@pytest.mark.parametrize("normalizer", [None, dl.NormalizerStandardize])
@pytest.mark.parametrize("take", [*TAKERS, predicted])
def test_features_that_are_not_finite_are_named(
    take, normalizer, value, features, classes
):
    network = classifier()
    if normalizer is not None:
        network.normalizer = normalizer().fit(dl.DataSet(features))
    features[17, 2] = value
    before = network.params.copy()
    with pytest.raises(DataError, match=r"features.* must hold finite .* in row 17"):
        take(network, dl.DataSet(features, classes))
    np.testing.assert_array_equal(network.params, before)


@pytest.mark.parametrize("value", BAD)
@takers
def test_labels_that_are_not_finite_are_named(take, value, features):
    labels = np.ones((N, 2))
    labels[5, 1] = value
    network = rows(2, "mse", "identity")
    with pytest.raises(
        DataError, match=r"labels must hold finite numbers, got .* in row 5, column 1\."
    ):
        take(network, dl.DataSet(features, labels))


@pytest.mark.parametrize("train", ["fit", "daskdl.fit"])
def test_a_normalizer_learns_nothing_from_what_is_not_finite(train, features, classes):
    features[17, 2] = np.nan
    normalizer = dl.NormalizerStandardize()
    fit = classifier().fit if train == "fit" else partial(dl.fit, classifier())
    with pytest.raises(DataError, match="features"):
        fit(dl.DataSet(features, classes), batch_size=8, normalizer=normalizer)
    assert not normalizer.is_fitted


def test_what_only_the_cast_makes_infinite_is_told(features, classes):
    features[1, 0] = 1e39
    data = dl.DataSet(features, classes)
    message = r"got 1e\+39, which is too large for float32, in row 1, column 0"
    with pytest.raises(DataError, match=message):
        classifier().fit(data)
    with pytest.raises(DataError, match=message):
        dl.fit(classifier(), data, batch_size=8)
    assert np.isfinite(classifier(dtype="float64").fit(data).params).all()


def test_the_data_set_of_a_list_is_named_before_anything_is_trained(features, classes):
    good = dl.DataSet(features, classes)
    bad = dl.DataSet(np.where(features > 1, np.nan, features), classes)
    network = classifier()
    with pytest.raises(DataError, match="fit: DataSet 1: features must hold finite"):
        network.fit([good, bad])
    assert network.iteration_count == 0


def test_shapes_of_a_list_are_looked_at_before_anything_is_trained(features, classes):
    network = classifier()
    data = [dl.DataSet(features, classes), dl.DataSet(features[:, :3], classes)]
    with pytest.raises(ShapeError, match="features must have shape"):
        network.fit(data)
    assert network.iteration_count == 0


def test_what_is_read_once_is_looked_at_as_it_comes(features, classes):
    def batches():
        yield dl.DataSet(features, classes)
        yield dl.DataSet(features * np.inf, classes)

    network = classifier()
    with pytest.raises(DataError, match="fit: DataSet 1: features must hold finite"):
        network.fit(batches())
    assert network.iteration_count == 1


def test_what_later_passes_bring_is_blamed_when_the_score_is_no_number(
    features, classes
):
    class Broken:
        passes = 0

        def __iter__(self):
            self.passes += 1
            yield dl.DataSet(features * (1 if self.passes == 1 else np.nan), classes)

    network = classifier()
    with pytest.raises(DataError, match="MultiLayerNetwork: features must hold finite"):
        network.fit(Broken(), epochs=3)
    assert network.iteration_count == 1
    assert np.isfinite(network.params).all()


def test_every_number_is_looked_at_once_a_fit(monkeypatch, features, classes):
    looked = []
    real = data_checks.check_finite

    def counting(who, what, values, **options):
        looked.append(values.size)
        real(who, what, values, **options)

    monkeypatch.setattr(data_checks, "check_finite", counting)
    classifier().fit(dl.DataSet(features, classes), epochs=5, batch_size=4)
    assert looked == [features.size, classes.size]


def test_what_a_mask_drops_of_labels_may_be_anything(features):
    labels = np.ones((N, 2))
    labels[5, 1] = np.nan
    data = dl.DataSet(features, labels, None, np.isfinite(labels))
    for take in (trained, trained_by_the_loop):
        assert np.isfinite(take(rows(2, "mse", "identity"), data)).all()


def test_what_a_mask_drops_of_features_may_be_anything_if_it_is_normalized(rng):
    series, mask = rng.standard_normal((6, 2, 5)), np.ones((6, 5))
    mask[:, 3:] = 0
    series[:, :, 3:] = np.nan
    data = dl.DataSet(series, rng.integers(0, 2, (6, 5)), mask, mask)
    conf = dl.MultiLayerConfiguration(
        input=dl.Recurrent(size=2),
        layers=[dl.LSTM(n_out=3), dl.RnnOutput(n_out=2, loss="mcxent")],
    )

    def masked(network, data):
        return network.output(data.features, features_mask=data.features_mask)

    for take in (*TAKERS, masked):
        with pytest.raises(DataError, match=r"features must .* got nan in row 0 at"):
            take(dl.MultiLayerNetwork(conf), data)
        network = dl.MultiLayerNetwork(conf)
        network.normalizer = dl.NormalizerStandardize().fit(data)
        result = take(network, data)
        assert isinstance(result, str) or np.isfinite(result).all()


@pytest.mark.parametrize("normalizer", [None, dl.NormalizerStandardize()])
@pytest.mark.parametrize("batch_size", [None, 4])
@pytest.mark.parametrize("make", [lambda data: data, lambda data: [data]])
def test_nothing_to_train_on_is_refused(make, batch_size, normalizer):
    data = make(dl.DataSet(np.zeros((0, 4)), np.zeros((0, 3))))
    network = classifier()
    with pytest.raises(DataError, match=r"must hold .* got none"):
        network.fit(data, batch_size=batch_size, normalizer=normalizer)
    with pytest.raises(DataError, match=r"must hold .* got none"):
        network.evaluate(data)


def diverging():
    return dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            updater=dl.Sgd(learning_rate=1e30),
            input=dl.FeedForward(size=4),
            layers=[
                dl.Dense(n_out=5, activation="relu"),
                dl.Output(n_out=1, loss="mse", activation="identity"),
            ],
        )
    )


@pytest.mark.parametrize("train", ["fit", "daskdl.fit"])
def test_a_diverging_fit_ends_at_the_first_score_without_warnings(train, features):
    data = [dl.DataSet(features, features[:, 0])] * 50
    network = diverging()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DivergedError, match=r"score must be .* in iteration \d\."):
            network.fit(data) if train == "fit" else dl.fit(network, data)
    assert network.iteration_count < 4


def test_parameters_are_looked_at_after_every_epoch(features):
    """Where the score stays a number: that of rectified units that are all off."""
    network = diverging()
    epochs = []

    class Data:
        def __iter__(self):
            epochs.append(network.epoch_count)
            network.params[0] = np.inf
            yield dl.DataSet(np.zeros((2, 4)), np.zeros(2))

    network.params[...] = 0
    with pytest.raises(DivergedError, match=r"must be"):
        network.fit(Data(), epochs=5)
    assert epochs == [0]


def test_pretraining_names_what_is_not_finite(rng):
    def network(rate):
        return dl.MultiLayerNetwork(
            dl.MultiLayerConfiguration(
                updater=dl.Sgd(learning_rate=rate),
                input=dl.FeedForward(size=4),
                layers=[dl.AutoEncoder(n_out=3, loss="mse"), dl.Output(n_out=2)],
            )
        )

    features = rng.standard_normal((6, 4))
    assert np.isfinite(network(0.1).pretrain(features).params).all()
    features[3, 1] = np.nan
    with pytest.raises(DataError, match=r"features must .* got nan in row 3, col"):
        network(0.1).pretrain(dl.DataSet(features))
    with pytest.raises(DataError, match="must hold an example, got none"):
        network(0.1).pretrain(dl.DataSet(np.zeros((0, 4))))


def images(n_rows, n_columns, channels):
    return dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            input=dl.Convolutional(height=n_rows, width=n_columns, channels=channels),
            layers=[
                dl.Convolution2D(n_out=2, kernel_size=(2, 2)),
                dl.Output(n_out=2, loss="mcxent"),
            ],
        )
    )


@takers
def test_images_with_their_channels_last_are_not_mixed_up(take, rng):
    """They have as many numbers as those with the channels first."""
    data = (rng.random((6, 4, 4, 3)), rng.integers(0, 2, 6))
    with pytest.raises((DataError, ShapeError), match=r"\(4, 4, 3\)|\(6, 4, 4, 3\)"):
        take(images(4, 4, 3), data)


def test_weights_of_a_loss_name_the_layer():
    loss = {"type": "mcxent", "weights": [1, 2]}
    with pytest.raises(OptionError, match=r"layers\[1\]\.loss\.weights: must hold a"):
        rows(3, loss, "softmax")
    with pytest.raises(OptionError, match=r"vertices\.out\.loss\.weights: must hold a"):
        dl.ComputationGraphConfiguration(
            inputs={"x": dl.FeedForward(size=4)},
            vertices={"out": dl.Output(n_out=3, loss=loss, inputs=["x"])},
            outputs=["out"],
        )


def test_what_checks_data_travels_to_workers(features, classes):
    network = classifier()
    check = pickle.loads(pickle.dumps(network.partition_check(None)))
    canonical = check("part", dl.MultiDataSet([features], [classes]))
    np.testing.assert_array_equal(canonical.labels[0], np.eye(3)[classes])

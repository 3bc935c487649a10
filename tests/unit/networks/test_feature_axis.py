"""A normalizer that was told no axis learns along that of the network's features."""

import warnings

import numpy as np
import pytest

import daskdl as dl
from daskdl.data.normalizers.kinds import normalizer_from_dict
from daskdl.errors import OptionError

KINDS = [
    dl.NormalizerStandardize,
    dl.NormalizerMinMaxScaler,
    lambda **options: dl.MultiNormalizerHybrid(**options).standardize_all_inputs(),
]
FITS = {
    "fit": lambda network, data, normalizer: network.fit(data, normalizer=normalizer),
    "daskdl.fit": lambda network, data, normalizer: dl.fit(
        network, [data], normalizer=normalizer
    ),
}


def series(data_format, n_in=2):
    return dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            seed=1,
            input=dl.Recurrent(size=n_in, data_format=data_format),
            layers=[
                dl.LSTM(n_out=3),
                dl.RnnOutput(n_out=2, loss="mse", activation="identity"),
            ],
        )
    )


@pytest.fixture
def last(rng):
    """Features on very different scales, (batch, time, features)."""
    features = rng.standard_normal((8, 5, 2)) * [1, 1000] + [0, 500]
    return dl.DataSet(features, 10 * rng.standard_normal((8, 5, 2)) + [3, -3])


def turned(data):
    return dl.DataSet(data.features.swapaxes(1, 2), data.labels.swapaxes(1, 2))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_both_formats_learn_the_same(fit, kind, last):
    first_net = fit(series("NCW"), turned(last), kind())
    last_net = fit(series("NWC"), last, kind())
    np.testing.assert_array_equal(last_net.params, first_net.params)
    assert last_net.normalizer.feature_axis == -1
    assert len(last_net.normalizer.learned("features")[0].pair[0]) == 2


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_labels_lie_along_the_same_axis(fit, last):
    normalizer = dl.NormalizerStandardize(fit_label=True)
    network = fit(series("NWC"), last, normalizer)
    expected = last.labels.reshape(-1, 2).mean(axis=0)
    np.testing.assert_allclose(network.normalizer.label_mean, expected)


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_an_axis_that_is_given_is_heeded(fit, last):
    normalizer = dl.NormalizerStandardize(feature_axis=1)
    fit(series("NWC"), last, normalizer)
    assert len(normalizer.mean) == 5


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_one_that_was_fitted_along_another_axis_is_warned_of(fit, last):
    normalizer = dl.NormalizerStandardize().fit(last)
    with pytest.warns(UserWarning, match=r"along axis 1, .* Give feature_axis=-1 bef"):
        fit(series("NWC"), last, normalizer)


def test_one_that_was_loaded_is_not_warned_of(last):
    """DL4J knows no other axis: what its models learnt is meant."""
    normalizer = dl.NormalizerStandardize().fit(last)
    again = normalizer_from_dict(normalizer.to_dict())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        series("NWC").fit(last, normalizer=again)


def test_images_with_channels_last_are_normalized_by_channel(rng):
    network = dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            input=dl.Convolutional(height=4, width=4, channels=3, data_format="NHWC"),
            layers=[
                dl.Convolution2D(n_out=2, kernel_size=(2, 2)),
                dl.Output(n_out=2, loss="mcxent"),
            ],
        )
    )
    images = rng.random((6, 4, 4, 3)) * [1, 10, 20]
    normalizer = dl.NormalizerStandardize()
    network.fit((images, rng.integers(0, 2, 6)), batch_size=3, normalizer=normalizer)
    np.testing.assert_allclose(normalizer.mean, images.reshape(-1, 3).mean(axis=0))


def mixed():
    return dl.ComputationGraph(
        dl.ComputationGraphConfiguration(
            inputs={
                "a": dl.Recurrent(size=2, data_format="NWC"),
                "b": dl.Recurrent(size=2),
            },
            vertices={
                "x": dl.LastTimeStep(layer=dl.LSTM(n_out=2), inputs=["a"]),
                "y": dl.LastTimeStep(layer=dl.LSTM(n_out=2), inputs=["b"]),
                "both": dl.MergeVertex(inputs=["x", "y"]),
                "out": dl.Output(n_out=2, loss="mcxent", inputs=["both"]),
            },
            outputs=["out"],
        )
    )


def test_inputs_of_different_formats_have_no_axis_in_common(rng):
    data = dl.MultiDataSet(
        [rng.random((4, 5, 2)), rng.random((4, 2, 5))], [rng.integers(0, 2, 4)]
    )
    with pytest.raises(OptionError, match="features along one axis, got both 1 and -1"):
        mixed().fit(data, normalizer=dl.NormalizerStandardize())
    one = dl.MultiNormalizerHybrid().standardize_input(0)
    assert mixed().fit(data, normalizer=one).normalizer.feature_axis == -1


@pytest.mark.parametrize("kind", KINDS)
def test_an_axis_that_is_open_stays_open_in_a_file(kind):
    assert normalizer_from_dict(kind().to_dict()).settled_axis is None
    given = kind(feature_axis=1)
    assert normalizer_from_dict(given.to_dict()).settled_axis == 1

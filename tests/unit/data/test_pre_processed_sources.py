"""Preprocessors of data sets where data are loaded: options, training, predictions."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.cluster.frontend import DaskMultiLayer
from daskdl.data.plan import plan_minibatches
from daskdl.data.pre_processors.pre_processor import FeaturesPreProcessor
from daskdl.data.reader import MinibatchReader
from daskdl.errors import DataError, OptionError, ShapeError
from daskdl.nn.conf.input_type import FeedForward, Recurrent
from daskdl.nn.conf.network import MultiLayerConfiguration
from daskdl.training.local import fit
from tests.unit.cluster.inline_client import InlineClient

GRAY = dl.RGBtoGrayscaleDataSetPreProcessor(keep_channel=True)
FLAT = dl.ImageFlatteningDataSetPreProcessor()
SCALED = dl.ImagePreProcessingScaler()
LAST = dl.LabelLastTimeStepPreProcessor()
SAMPLED = dl.UnderSamplingByMaskingPreProcessor(0.5, 6)
N = 24


@pytest.fixture
def images(rng):
    pixels = rng.integers(0, 256, (N, 3, 4, 5)).astype(np.float32)
    labels = np.eye(2, dtype=np.float32)[rng.integers(0, 2, N)]
    return dl.DataSet(pixels, labels)


@pytest.fixture
def series(rng):
    """Return series with a rare class."""
    is_rare = (rng.random((N, 6)) < 0.1).astype(int)
    labels = np.eye(2, dtype=np.float32)[is_rare].transpose(0, 2, 1)
    return dl.DataSet(rng.normal(size=(N, 3, 6)).astype(np.float32), labels)


def rows_network(n_in=20):
    layers = [dl.Dense(n_out=4), dl.Output(n_out=2, loss="mcxent")]
    return built(layers, FeedForward(size=n_in))


def series_network():
    layers = [dl.LSTM(n_out=3), dl.RnnOutput(n_out=2, loss="mcxent")]
    return built(layers, Recurrent(size=3))


def built(layers, input_type):
    conf = MultiLayerConfiguration(layers=layers, input=input_type)
    return dl.MultiLayerNetwork(conf).init()


def by_hand(data, *through):
    for one in through:
        data = one.transform(data)
    return data


def read(source, epoch, batch_size=8):
    reader = MinibatchReader(source.partitions)
    return [reader.read(one, epoch) for one in plan_minibatches([N], batch_size)]


def masks(source, epoch):
    return np.concatenate([one.labels_mask for one in read(source, epoch)])


def test_training_is_that_on_data_that_went_through_by_hand(images):
    network = rows_network()
    expected = fit(network.clone(), by_hand(images, GRAY, FLAT), batch_size=8)
    fit(network, images, batch_size=8, pre_processor=[GRAY, FLAT])
    np.testing.assert_array_equal(network.params, expected.params)


def test_a_normalizer_learns_what_comes_out(images):
    one, other = dl.NormalizerStandardize(), dl.NormalizerStandardize()
    fit(rows_network(60), images, batch_size=8, normalizer=one, pre_processor=FLAT)
    fit(rows_network(60), by_hand(images, FLAT), batch_size=8, normalizer=other)
    assert one.to_dict() == other.to_dict()


def test_front_ends_fit_evaluate_and_predict_through_them(images):
    network = fit(rows_network(60), by_hand(images, FLAT, SCALED), batch_size=8)
    front = DaskMultiLayer(InlineClient(), network)
    through = {"pre_processor": [FLAT, SCALED]}
    expected = network.evaluate(by_hand(images, FLAT, SCALED))
    assert front.evaluate(images, **through).stats() == expected.stats()
    pairs = [(f"k{number}", one) for number, one in enumerate(images.features)]
    predicted = front.feed_forward_with_key(pairs, **through)
    assert [key for key, _ in predicted] == [key for key, _ in pairs]
    outputs = network.output(by_hand(images, FLAT, SCALED).features)
    np.testing.assert_allclose([row for _, row in predicted], outputs, rtol=1e-5)


def test_labels_may_change_as_well(series):
    layers = [dl.LSTM(n_out=3), dl.LastTimeStep(layer=dl.LSTM(n_out=3))]
    network = built([*layers, dl.Output(n_out=2, loss="mcxent")], Recurrent(size=3))
    expected = fit(network.clone(), by_hand(series, LAST), batch_size=8)
    fit(network, series, batch_size=8, pre_processor=LAST)
    np.testing.assert_array_equal(network.params, expected.params)


def test_masks_are_drawn_for_each_epoch_and_repeat(series):
    source = dl.open_source(series, dl.SourceOptions(pre_processor=SAMPLED))
    np.testing.assert_array_equal(masks(source, 0), masks(source, 0))
    assert (masks(source, 0) != masks(source, 1)).any()
    first, second, _ = (one.labels_mask for one in read(source, 0))
    assert (first != second).any()


def test_training_with_drawn_masks_repeats_and_goes_on(series):
    network = series_network()
    once = fit(network.clone(), series, epochs=2, batch_size=8, pre_processor=SAMPLED)
    for _ in range(2):
        fit(network, series, batch_size=8, pre_processor=SAMPLED)
    np.testing.assert_array_equal(network.params, once.params)


def test_nothing_is_drawn_for_evaluations(series):
    network = series_network()
    front = DaskMultiLayer(InlineClient(), network)
    assert front.score(series, pre_processor=SAMPLED) == front.score(series)


def test_a_source_goes_through_them_once(images):
    options = dl.SourceOptions(pre_processor=[GRAY])
    source = dl.open_source(images, options)
    assert dl.open_source(source, options) is source
    further = dl.open_source(source, dl.SourceOptions(pre_processor=FLAT))
    assert further.partitions[0].load().features.shape == (N, 20)


def test_names_and_mappings_stand_for_preprocessors(images):
    through = ["image_flattening", {"type": "image_min_max", "max_range": 2.0}]
    source = dl.open_source(images, dl.SourceOptions(pre_processor=through))
    assert source.partitions[0].load().features.max() <= 2.0


class Halves(FeaturesPreProcessor):
    """Drops every other example."""

    kind = "halves"

    def _pre_processed(self, examples):
        return examples.slice(0, examples.num_examples // 2)

    def _new_features(self, who, features):
        raise NotImplementedError

    def to_dict(self):
        return {}

    @classmethod
    def from_dict(cls, values):
        return cls()


@pytest.mark.parametrize(
    ("through", "message"),
    [
        (3, "SourceOptions: pre_processor must be a Normalizer, got int"),
        ([GRAY, "gray"], r"pre_processor\[1\]: .*type must be one of"),
        ({"type": "permute", "order": 1}, "pre_processor: .*order"),
        (dl.NormalizerStandardize(), "must know all .* got a NormalizerStandardize"),
        (
            [SAMPLED, LAST],
            "must end with .* got a LabelLastTimeStepPre",
        ),
        (
            [dl.CompositeDataSetPreProcessor(SAMPLED, SCALED)],
            "must end with .* got a ImagePreProcessingScaler behind",
        ),
    ],
)
def test_what_cannot_be_done_is_refused(images, through, message):
    with pytest.raises(OptionError, match=message):
        fit(rows_network(), images, batch_size=8, pre_processor=through)


@pytest.mark.parametrize(
    ("through", "error", "message"),
    [
        (
            [FLAT, LAST],
            ShapeError,
            "^DataSet: LabelLastTimeStepPreProcessor.transform: labels",
        ),
        (
            [FLAT, SAMPLED],
            ShapeError,
            "^DataSet: UnderSamplingByMaskingPreProcessor: labels",
        ),
        (Halves(), DataError, "^DataSet: a preprocessor must keep .*, 24, got 12"),
        (GRAY, ShapeError, "^DataSet: .*features must have shape"),
    ],
)
def test_what_does_not_fit_is_refused_before_training(images, through, error, message):
    network = rows_network(60)
    with pytest.raises(error, match=message):
        fit(network, images, batch_size=8, pre_processor=through)
    assert network.iteration_count == 0

"""What holds for every preprocessor over one table, and what single ones promise."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.arrays.workspace import Workspace
from daskdl.errors import OptionError, ShapeError
from daskdl.nn.conf.input_type import (
    Convolutional,
    Convolutional3D,
    FeedForward,
    Recurrent,
)
from daskdl.nn.data_format import to_data_format
from daskdl.nn.preprocessors.table import PREPROCESSORS, build_preprocessor
from tests.memory import kept_bytes
from tests.pretend_cupy import Namespace, PretendArray, plain, pretend

BATCH, STEPS = 2, 3
ROWS = FeedForward(size=12)
SERIES = Recurrent(size=12)
NWC = Recurrent(size=12, data_format="NWC")
IMAGES = Convolutional(height=2, width=3, channels=2)
NHWC = IMAGES.replaced(data_format="NHWC")
VOLUMES = Convolutional3D(depth=3, height=1, width=2, channels=2)
NDHWC = VOLUMES.replaced(data_format="NDHWC")
IMAGE = {"height": 2, "width": 3, "channels": 2}
VOLUME = {"depth": 3, "height": 1, "width": 2, "channels": 2}

# configuration, what it gets, and whether its rows are steps
CASES = {
    "rnn to feed forward": (dl.RnnToFeedForward(), SERIES, False),
    "rows to feed forward": (dl.RnnToFeedForward(), ROWS, False),
    "rnn to feed forward, NWC": (dl.RnnToFeedForward(data_format="NWC"), NWC, False),
    "feed forward to rnn": (dl.FeedForwardToRnn(), ROWS, True),
    "cnn to feed forward": (dl.CnnToFeedForward(**IMAGE), IMAGES, False),
    "cnn to feed forward, NHWC": (dl.CnnToFeedForward(data_format="NHWC"), NHWC, False),
    "tensor flow": (dl.TensorFlowCnnToFeedForward(), IMAGES, False),
    "feed forward to cnn": (dl.FeedForwardToCnn(**IMAGE), ROWS, False),
    "images to cnn": (dl.FeedForwardToCnn(**IMAGE), IMAGES, False),
    "rnn to cnn": (dl.RnnToCnn(**IMAGE), SERIES, False),
    "cnn to rnn": (dl.CnnToRnn(**IMAGE), IMAGES, True),
    "volumes to feed forward": (dl.Cnn3DToFeedForward(**VOLUME), VOLUMES, False),
    "volumes to feed forward, NDHWC": (
        dl.Cnn3DToFeedForward(),
        NDHWC,
        False,
    ),
    "feed forward to volumes": (dl.FeedForwardToCnn3D(**VOLUME), ROWS, False),
    "feed forward to volumes, NDHWC": (
        dl.FeedForwardToCnn3D(data_format="NDHWC", **VOLUME),
        ROWS,
        False,
    ),
    "volumes to volumes": (dl.FeedForwardToCnn3D(**VOLUME), VOLUMES, False),
    "flatten": (dl.KerasFlattenRnn(depth=12, ts_length=STEPS), SERIES, False),
    "flatten, NWC": (dl.KerasFlattenRnn(depth=12, ts_length=STEPS), NWC, False),
    "permute series": (
        dl.Permute(permutation_indices=(2, 1)),
        SERIES.replaced(time_steps=STEPS),
        False,
    ),
    "permute images": (dl.Permute(permutation_indices=(0, 1, 3, 2)), IMAGES, False),
    "permute images, NHWC": (dl.Permute(permutation_indices=(2, 1, 3)), NHWC, False),
    "reshape to rows": (dl.Reshape(target_shape=(12,)), IMAGES, False),
    "reshape to series": (dl.Reshape(target_shape=(3, 4)), ROWS, False),
    "reshape to NCW": (
        dl.Reshape(target_shape=(3, 4), data_format="NCW"),
        IMAGES,
        False,
    ),
    "reshape to images": (dl.Reshape(target_shape=(2, 3, 2)), ROWS, False),
    "reshape images": (dl.Reshape(target_shape=(4, 3, 1)), IMAGES, False),
    "reshape to volumes": (dl.Reshape(target_shape=(3, 1, 2, 2)), ROWS, False),
    "reshape series to series": (
        dl.Reshape(target_shape=(6, 6)),
        Recurrent(size=12),
        False,
    ),
    "composable": (
        dl.Composable(
            preprocessors=[
                "rnn_to_feed_forward",
                {"type": "feed_forward_to_cnn", **IMAGE},
            ]
        ),
        SERIES,
        False,
    ),
}
every_case = pytest.mark.parametrize("name", CASES)


class Alone:
    """A preprocessor with a workspace of its own."""

    def __init__(self, name):
        conf, self.input_type, self.are_steps = CASES[name]
        self.workspace = Workspace()
        self.built = build_preprocessor(conf, self.input_type, "me", self.workspace)

    def x(self, rng, batch=BATCH):
        rows = batch * STEPS if self.are_steps else batch
        shape = [STEPS if n is None else n for n in self.input_type.shape]
        return rng.standard_normal((rows, *shape))

    def forward(self, x, batch=BATCH):
        return self.built.forward(x, batch_size=batch)


def steps_first(rows, n):
    """Return DL4J's rows of steps (time * batch, n) as (batch, n, time)."""
    return rows.reshape(STEPS, BATCH, n).transpose(1, 2, 0)


# An iteration may leave views behind; an array of a row for each example is more.
KEPT_BYTES, MANY = 4096, 300


def test_the_table_has_every_kind():
    missing = set(PREPROCESSORS) - {type(case[0]) for case in CASES.values()}
    assert sorted(kind.__name__ for kind in missing) == []


@every_case
def test_the_output_has_the_shape_that_the_configuration_says(rng, name):
    alone = Alone(name)
    output = alone.forward(alone.x(rng))
    for came, said in zip(output.shape[1:], alone.built.output_type.shape, strict=True):
        assert said in (None, came)


@every_case
def test_the_gradient_goes_back_to_where_the_numbers_came_from(rng, name):
    alone = Alone(name)
    x = alone.x(rng)
    output = alone.forward(x).copy()
    np.testing.assert_array_equal(alone.built.backward(output), x)


@every_case
def test_float32_stays_float32(rng, name):
    alone = Alone(name)
    output = alone.forward(alone.x(rng).astype("f4"))
    assert alone.built.backward(output).dtype == np.float32


@every_case
def test_what_is_given_is_not_changed(rng, name):
    alone = Alone(name)
    x = alone.x(rng)
    before = x.copy()
    alone.built.backward(alone.forward(x))
    np.testing.assert_array_equal(x, before)


@every_case
def test_the_workspace_does_not_grow_after_the_first_iteration(rng, name):
    alone = Alone(name)
    sizes = []
    for batch in (4, 4, 2, 4):
        alone.built.backward(alone.forward(alone.x(rng, batch), batch))
        sizes.append(alone.workspace.nbytes)
    assert len(set(sizes)) == 1


@every_case
def test_nothing_lives_on_that_the_second_iteration_allocates(rng, name):
    alone = Alone(name)
    x = alone.x(rng, MANY)

    def iterate():
        alone.built.backward(alone.forward(x, MANY))

    assert kept_bytes(iterate) < KEPT_BYTES


@every_case
def test_a_batch_of_another_size_works(rng, name):
    alone, fresh = Alone(name), Alone(name)
    alone.built.backward(alone.forward(alone.x(rng, 4), 4))
    x = alone.x(rng)
    np.testing.assert_array_equal(alone.forward(x), fresh.forward(x))


@every_case
def test_another_rank_is_refused(rng, name):
    alone = Alone(name)
    with pytest.raises(
        ShapeError, match=r"'me(\.0)?': x must have shape \(rows, .*got"
    ):
        alone.forward(alone.x(rng)[0])


@every_case
@pytest.mark.parametrize("compact", [False, True])
def test_a_configuration_comes_back_from_its_mapping(name, compact):
    network = network_with(name)
    again = dl.MultiLayerConfiguration.from_dict(network.to_dict(compact=compact))
    assert again == network


@every_case
def test_a_configuration_comes_back_from_its_yaml(name):
    network = network_with(name)
    assert dl.MultiLayerConfiguration.from_yaml(network.to_yaml()) == network


def network_with(name):
    conf, input_type, _ = CASES[name]
    layer = dl.Activation(preprocessor=conf)
    return dl.MultiLayerConfiguration(input=input_type, layers=[layer])


def test_rows_of_steps_have_the_first_steps_of_all_examples_first(rng):
    alone = Alone("rnn to feed forward")
    x = alone.x(rng)
    np.testing.assert_array_equal(alone.forward(x)[:BATCH], x[:, 0])


# What DL4J does with arrays in its data formats, in one expression each.
DL4J = {
    "cnn to feed forward": lambda x: x.reshape(BATCH, 12),
    "cnn to feed forward, NHWC": lambda x: x.reshape(BATCH, 12),
    "tensor flow": lambda x: x.transpose(0, 2, 3, 1).reshape(BATCH, 12),
    "feed forward to cnn": lambda x: x.reshape(BATCH, 2, 2, 3),
    "feed forward to rnn": lambda x: steps_first(x, 12),
    "cnn to rnn": lambda x: steps_first(x.reshape(-1, 12), 12),
    "rnn to cnn": lambda x: x.transpose(2, 0, 1).reshape(-1, 2, 2, 3),
    "volumes to feed forward": lambda x: x.reshape(BATCH, 12),
    "volumes to feed forward, NDHWC": lambda x: x.reshape(BATCH, 12),
    "feed forward to volumes": lambda x: x.reshape(BATCH, 2, 3, 1, 2),
    "feed forward to volumes, NDHWC": lambda x: x.reshape(BATCH, 3, 1, 2, 2),
    "flatten": lambda x: x.reshape(BATCH, -1),
    "flatten, NWC": lambda x: x.reshape(BATCH, -1),
    "permute series": lambda x: x.transpose(0, 2, 1),
    "permute images": lambda x: x.transpose(0, 1, 3, 2),
    "permute images, NHWC": lambda x: x.transpose(0, 2, 1, 3),
    "reshape to rows": lambda x: x.reshape(BATCH, 12),
    "reshape to series": lambda x: x.reshape(BATCH, 3, 4),
    "reshape to NCW": lambda x: x.reshape(BATCH, 3, 4),
    "reshape to images": lambda x: x.reshape(BATCH, 2, 3, 2),
    "reshape images": lambda x: x.reshape(BATCH, 4, 3, 1),
    "reshape to volumes": lambda x: x.reshape(BATCH, 3, 1, 2, 2),
    "reshape series to series": lambda x: x.reshape(BATCH, 6, 6),
}


@pytest.mark.parametrize("name", DL4J)
def test_arrays_in_their_data_format_become_what_they_become_in_dl4j(rng, name):
    alone = Alone(name)
    x = alone.x(rng)
    output = alone.forward(x)
    expected = DL4J[name](to_data_format(x, alone.input_type))
    np.testing.assert_array_equal(
        to_data_format(output, alone.built.output_type), np.ascontiguousarray(expected)
    )


def test_a_mask_of_steps_becomes_one_of_their_rows_and_back():
    mask = np.array([[1, 1, 0], [1, 0, 0.0]])
    to_rows, to_steps = Alone("rnn to feed forward"), Alone("feed forward to rnn")
    rows = to_rows.built.feed_forward_mask(mask, batch_size=BATCH)
    np.testing.assert_array_equal(rows, [[1], [1], [1], [0], [0], [0]])
    steps = to_steps.built.feed_forward_mask(rows, batch_size=BATCH)
    np.testing.assert_array_equal(steps, mask)


@pytest.mark.parametrize("name", ["rnn to cnn", "composable"])
def test_images_of_steps_have_a_mask_each(name):
    mask = np.array([[1, 1, 0], [1, 0, 0.0]])
    found = Alone(name).built.feed_forward_mask(mask, batch_size=BATCH)
    np.testing.assert_array_equal(found.ravel(), [1, 1, 1, 0, 0, 0])


def test_masks_of_images_become_one_of_steps():
    found = Alone("cnn to rnn").built.feed_forward_mask(
        np.array([[1], [0], [1], [1], [0], [1.0]]), batch_size=BATCH
    )
    np.testing.assert_array_equal(found, [[1, 1, 0], [0, 1, 1]])


def test_a_mask_of_rows_stays_one():
    mask = np.array([[1], [0.0]])
    found = Alone("rows to feed forward").built.feed_forward_mask(mask, batch_size=2)
    np.testing.assert_array_equal(found, mask)


@every_case
def test_without_a_mask_none_comes_out(name):
    assert Alone(name).built.feed_forward_mask(None, batch_size=BATCH) is None


@pytest.mark.parametrize("name", ["flatten", "permute series", "reshape to rows"])
def test_a_mask_that_fits_no_more_does_not_go_on(name):
    mask = np.ones((BATCH, STEPS))
    assert Alone(name).built.feed_forward_mask(mask, batch_size=BATCH) is None


@pytest.mark.parametrize("name", ["feed forward to rnn", "cnn to rnn"])
def test_broken_numbers_of_rows_are_refused(rng, name):
    alone = Alone(name)
    with pytest.raises(ShapeError, match=r"multiple of 4 rows.*got 6"):
        alone.forward(alone.x(rng), 4)


def test_series_of_another_length_are_not_flattened(rng):
    alone = Alone("flatten")
    with pytest.raises(ShapeError, match="x must have 3 time steps, got 2"):
        alone.forward(alone.x(rng)[:, :2])


def test_series_of_another_length_are_not_reshaped(rng):
    alone = Alone("reshape series to series")
    with pytest.raises(ShapeError, match="x must hold 36 numbers an example, got"):
        alone.forward(alone.x(rng)[:, :2])


REFUSED = {
    "kind": (dl.RnnToFeedForward(), IMAGES, r"must get time series, got Convolutional"),
    "series of images": (dl.CnnToRnn(), SERIES, "must get images, got Recurrent"),
    "format": (
        dl.RnnToFeedForward(),
        NWC,
        "data_format: must be 'NWC', that of what it gets, got 'NCW'",
    ),
    "format of images": (dl.CnnToRnn(), NHWC, "data_format: must be 'NHWC'"),
    "size": (dl.CnnToFeedForward(height=5), IMAGES, "height: must be 2, .*got 5"),
    "length of rows": (
        dl.FeedForwardToCnn(height=2, width=2),
        ROWS,
        r"must get 2 \* 2 \* 1 = 4 numbers, got rows of 12",
    ),
    "length of steps": (
        dl.RnnToCnn(height=2, width=2),
        SERIES,
        r"must get 2 \* 2 \* 1 = 4 numbers, got time series of 12",
    ),
    "open size": (
        dl.CnnToFeedForward(),
        Convolutional(channels=2),
        "must have a known size to be flattened",
    ),
    "depth": (
        dl.KerasFlattenRnn(depth=2, ts_length=3),
        SERIES,
        "depth: must be 12, the features of a step, got 2",
    ),
    "ts_length": (
        dl.KerasFlattenRnn(depth=12, ts_length=3),
        SERIES.replaced(time_steps=4),
        "ts_length: must be 4, the steps of the series, got 3",
    ),
    "exchange": (
        dl.Permute(permutation_indices=(1, 2)),
        SERIES.replaced(time_steps=4),
        r"permutation_indices: must be \(2, 1\) for what it gets, got \(1, 2\)",
    ),
    "exchange of open steps": (
        dl.Permute(permutation_indices=(2, 1)),
        SERIES,
        "must get time series of a known length",
    ),
    "exchange of rows": (
        dl.Permute(permutation_indices=(2, 1)),
        ROWS,
        "must get NCW series or images, got FeedForward",
    ),
    "number of numbers": (
        dl.Reshape(target_shape=(5, 2)),
        ROWS,
        r"target_shape: must hold as many numbers as \(12,\), what it gets, got \(5",
    ),
    "format of another rank": (
        dl.Reshape(target_shape=(3, 4), data_format="NHWC"),
        ROWS,
        "data_format: must be one of NWC, NCW for .*got NHWC",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused(name):
    conf, input_type, message = REFUSED[name]
    with pytest.raises(OptionError, match=message):
        conf.output_type(input_type)


def test_an_open_size_is_what_the_option_says():
    conf = dl.CnnToFeedForward(**IMAGE)
    assert conf.output_type(Convolutional(channels=2)) == FeedForward(size=12)


def test_a_network_on_images_in_series_trains_through_both_ways(rng):
    """As convolutions on the frames of a film do."""
    net = dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            input=SERIES,
            layers=[
                dl.Convolution2D(
                    n_out=2, kernel_size=2, preprocessor=dl.RnnToCnn(**IMAGE)
                ),
                dl.LSTM(n_out=3, preprocessor="cnn_to_rnn"),
                dl.RnnOutput(n_out=2),
            ],
            dtype="float64",
        )
    )
    labels = np.eye(2)[rng.integers(0, 2, (BATCH, STEPS))].transpose(0, 2, 1)
    data = dl.DataSet(rng.standard_normal((BATCH, 12, STEPS)), labels)
    before = net.compute_score(data)
    assert net.fit(data, epochs=20).compute_score(data) < before


@every_case
@pytest.mark.usefixtures("pretence")
def test_arrays_of_a_device_stay_there(rng, name):
    host, device = Alone(name), Alone(name)
    conf, input_type, _ = CASES[name]
    device.built = build_preprocessor(conf, input_type, "me", Workspace(Namespace))
    x = host.x(rng)
    output = device.forward(pretend(x))
    grad_x = device.built.backward(output)
    assert isinstance(output, PretendArray)
    assert isinstance(grad_x, PretendArray)
    np.testing.assert_array_equal(plain(output), host.forward(x))
    np.testing.assert_array_equal(plain(grad_x), x)

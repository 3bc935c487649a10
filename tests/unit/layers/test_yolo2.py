"""The boxes of YOLO and their loss."""

import re

import numpy as np
import pytest

import daskdl as dl
from daskdl.arrays.workspace import Workspace
from daskdl.data.sources.source import open_source
from daskdl.errors import DataError, OptionError, ShapeError
from daskdl.nn.conf.input_type import Convolutional, Recurrent
from daskdl.nn.layers.layer import Layer
from tests.dialects import in_dl4j
from tests.gradients import check_gradient
from tests.pretend_cupy import Namespace, plain, pretend

PRIORS = ((1.0, 1.5), (2.0, 1.0))
GRID = Convolutional(height=3, width=4, channels=16)
SHAPE = (2, 3, 4, 16)


def built(input_type=GRID, within=lambda conf: conf, **options):
    conf = within(dl.Yolo2Output(bounding_boxes=PRIORS, **options))
    return Layer(conf.filled({}, input_type, "me"), input_type, "me", Workspace())


def on_device():
    conf = dl.Yolo2Output(bounding_boxes=PRIORS)
    workspace = Workspace(Namespace)
    return Layer(conf.filled({}, GRID, "me"), GRID, "me", workspace)


def with_objects(*objects, batch=2):
    """Return labels with (example, x, y, width, height, class) of each object."""
    labels = np.zeros((batch, 3, 4, 7))
    for example, x, y, width, height, kind in objects:
        cell = labels[example, int(y), int(x)]
        cell[:4] = x - width / 2, y - height / 2, x + width / 2, y + height / 2
        cell[4 + kind] = 1
    return labels


LABELS = with_objects(
    (0, 1.3, 0.6, 1.1, 0.9, 2), (0, 3.5, 2.2, 0.8, 1.4, 0), (1, 0.4, 1.7, 2, 1.5, 1)
)
OPTIONS = {
    "defaults": {},
    "other weights": {"lambda_coord": 2.0, "lambda_no_obj": 0.1},
    "other losses": {"loss_position_scale": "mse", "loss_class_predictions": "mcxent"},
}


@pytest.mark.parametrize("options", OPTIONS)
def test_the_gradient_is_that_of_the_score(rng, options):
    layer = built(**OPTIONS[options])

    def loss_and_grad(vector):
        layer.forward(vector.reshape(SHAPE), training=True)
        return layer.loss.score(LABELS), layer.backward_loss(LABELS).ravel()

    check_gradient(loss_and_grad, 0.5 * rng.standard_normal(SHAPE).ravel())


def test_all_terms_by_hand():
    """One object, whose cell's second box fits it, and nothing else predicted."""
    layer = built(lambda_coord=3.0, lambda_no_obj=0.5)
    x = np.zeros((1, 3, 4, 16))
    layer.forward(x, training=True)
    labels = with_objects((0, 1.75, 1.5, 2.0, 1.0, 0), batch=1)
    # The box of the cell is at (0.5, 0.5) in it, the object a quarter further.
    overlap = 1.75 / 2.25
    place = 3 * 0.25**2
    confidence = (0.5 - overlap) ** 2 + 0.5 * 23 * 0.5**2
    classes = (1 - 1 / 3) ** 2 + 2 * (1 / 3) ** 2
    np.testing.assert_allclose(layer.loss.score(labels), place + confidence + classes)


def test_sizes_are_compared_by_their_roots():
    layer = built(lambda_coord=3.0, lambda_no_obj=0.0)
    layer.forward(np.zeros((1, 3, 4, 16)), training=True)
    labels = with_objects((0, 1.5, 1.5, 2.0, 0.8, 0), batch=1)
    size = 3 * (1 - np.sqrt(0.8)) ** 2
    classes = (1 - 1 / 3) ** 2 + 2 * (1 / 3) ** 2
    expected = size + (0.5 - 0.8) ** 2 + classes
    np.testing.assert_allclose(layer.loss.score(labels), expected)


def test_without_objects_only_confidences_cost():
    layer = built(lambda_no_obj=0.5)
    layer.forward(np.zeros(SHAPE), training=True)
    expected = 0.5 * 2 * 24 * 0.5**2
    np.testing.assert_allclose(layer.loss.score(np.zeros((2, 3, 4, 7))), expected)


@pytest.mark.parametrize("loss", ["l1", "mae", "mse", "msle", "cosine_proximity"])
def test_gradients_without_objects_are_those_of_confidences(rng, loss):
    layer = built(loss_position_scale=loss, lambda_no_obj=0.5)
    x = rng.standard_normal(SHAPE)
    layer.forward(x, training=True)
    grad_x = layer.backward_loss(np.zeros((2, 3, 4, 7))).reshape(2, 3, 4, 2, 8)
    confidence = 1 / (1 + np.exp(-x.reshape(grad_x.shape)[..., 4]))
    expected = np.zeros_like(grad_x)
    expected[..., 4] = confidence**2 * (1 - confidence)
    np.testing.assert_allclose(grad_x, expected, atol=1e-15)


def test_single_examples_weigh_idle_boxes_twice_in_dl4j(rng):
    layer = built(within=in_dl4j, lambda_no_obj=0.5)
    layer.forward(np.zeros(SHAPE), training=True)
    found = layer.loss.score_examples(np.zeros((2, 3, 4, 7)))
    np.testing.assert_allclose(found, 0.5**2 * 24 * 0.5**2)


def test_the_score_is_the_sum_of_the_examples(rng):
    layer = built(lambda_no_obj=0.3)
    layer.forward(rng.standard_normal(SHAPE), training=True)
    expected = layer.loss.score_examples(LABELS).sum()
    np.testing.assert_allclose(layer.loss.score(LABELS), expected)


def test_the_first_of_boxes_that_fit_alike_is_responsible():
    layer = built(lambda_no_obj=0.0)
    layer.forward(np.zeros((1, 3, 4, 16)), training=True)
    # Far from where the boxes of its cell can be: no overlap with either.
    labels = with_objects((0, 1.5, 1.5, 0.2, 0.2, 0), batch=1)
    labels[0, 1, 1, :4] += 2
    grad_x = layer.backward_loss(labels)
    assert grad_x[0, 1, 1, 5:8].any()
    assert not grad_x[0, 1, 1, 13:].any()


def test_labels_have_corners_and_classes():
    conf = dl.Yolo2Output(bounding_boxes=PRIORS)
    assert conf.labels_type(GRID) == GRID.replaced(channels=7)


@pytest.mark.parametrize("channels", [15, 10])
def test_channels_must_hold_the_boxes(channels):
    conf = dl.Yolo2Output(bounding_boxes=PRIORS)
    with pytest.raises(
        OptionError, match=rf"boxes \* \(5 \+ classes\), got 2 for {channels} channels"
    ):
        conf.output_type(GRID.replaced(channels=channels))


def test_series_are_refused():
    with pytest.raises(OptionError, match="Yolo2Output needs images"):
        dl.Yolo2Output(bounding_boxes=PRIORS).output_type(Recurrent(size=3))


@pytest.mark.parametrize("boxes", [(), ((1.0, 0.0),), ((1.0,),), 3])
def test_other_boxes_are_refused(boxes):
    with pytest.raises(OptionError, match="bounding_boxes"):
        dl.Yolo2Output(bounding_boxes=boxes)


def test_labels_of_another_shape_are_refused():
    layer = built()
    layer.forward(np.zeros(SHAPE), training=True)
    with pytest.raises(
        ShapeError, match=r"'me': labels must have shape \(2, 3, 4, 7\)"
    ):
        layer.loss.score(np.zeros((2, 3, 4, 8)))


def test_masks_of_labels_are_refused():
    """DL4J takes them, and does not look at them."""
    layer = built()
    layer.forward(np.zeros(SHAPE), training=True)
    with pytest.raises(OptionError, match=r"without a mask, got one of shape \(2, 1\)"):
        layer.loss.score(LABELS, np.ones((2, 1)))


@pytest.mark.usefixtures("pretence")
def test_devices_compute_the_same(rng):
    x, layer, other = rng.standard_normal(SHAPE), built(), on_device()
    layer.forward(x, training=True)
    other.forward(pretend(x), training=True)
    assert other.loss.score(pretend(LABELS)) == layer.loss.score(LABELS)
    np.testing.assert_array_equal(
        plain(other.loss.score_examples(pretend(LABELS))),
        layer.loss.score_examples(LABELS),
    )
    np.testing.assert_array_equal(
        plain(other.backward_loss(pretend(LABELS))), layer.backward_loss(LABELS)
    )


def test_grids_may_have_another_size_each_time(rng):
    layer = built(Convolutional(channels=16))
    shapes = [
        layer.forward(rng.standard_normal((1, size, 3, 16)), training=False).shape
        for size in (2, 5)
    ]
    assert shapes == [(1, 2, 3, 16), (1, 5, 3, 16)]


def finder(**options):
    """Return a network that finds objects in images of 3 x 4 cells."""
    conv = dl.Convolution2D(
        n_out=16, kernel_size=3, convolution_mode="same", activation="identity"
    )
    return dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            input=Convolutional(height=3, width=4, channels=2, **options),
            layers=[conv, dl.Yolo2Output(bounding_boxes=PRIORS)],
            updater={"type": "adam", "learning_rate": 0.02},
        )
    )


def test_a_network_learns_where_objects_are(rng):
    network = finder()
    images = rng.standard_normal((2, 2, 3, 4))
    batch = dl.DataSet(images, LABELS.transpose(0, 3, 1, 2))
    before = network.compute_score(batch)
    for _ in range(50):
        network.fit_minibatch(batch)
    assert network.compute_score(batch) < before / 4


# Corners of an object of row 1, in the cell of the third column and second row.
WRONG = {
    "x2 before x1": (2.9, 1.1, 2.1, 1.9),
    "y2 above y1": (2.1, 1.9, 2.9, 1.1),
    "left of the grid": (-2.5, 1.1, -0.9, 1.9),
    "below the grid": (2.1, 3.1, 2.9, 4.9),
    "in pixels": (67.2, 35.2, 92.8, 60.8),
}


def of_corners(corners, *, is_first):
    labels = np.zeros((2, 3, 4, 7))
    labels[1, 1, 2, :4] = corners
    labels[1, 1, 2, 5] = 1
    return labels.transpose(0, 3, 1, 2) if is_first else labels


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("case", WRONG)
def test_corners_that_are_no_box_are_refused_before_training(case, is_first):
    network = finder(data_format="NCHW" if is_first else "NHWC")
    shape = (2, 2, 3, 4) if is_first else (2, 3, 4, 2)
    data = dl.DataSet(np.zeros(shape), of_corners(WRONG[case], is_first=is_first))
    told = re.escape(", ".join(f"{one:g}" for one in WRONG[case]))
    with pytest.raises(
        DataError, match=rf"corners x1 .* got \({told}\) in row 1, cell"
    ):
        network.fit(data, batch_size=1)
    assert network.iteration_count == 0


def test_the_cell_of_a_wrong_box_is_told():
    labels = of_corners(WRONG["x2 before x1"], is_first=True)
    with pytest.raises(DataError, match="in row 1, cell x=2, y=1"):
        finder().fit(dl.DataSet(np.zeros((2, 2, 3, 4)), labels))


@pytest.mark.parametrize("shape", [(2,), (2, 3), (2, 3, 3, 4)])
def test_boxes_are_not_looked_for_in_labels_of_another_shape(shape):
    data = open_source(dl.DataSet(np.zeros((2, 2, 3, 4)), np.ones(shape)))
    with pytest.raises(ShapeError, match=r"must have shape \(batch, 7, 3, 4\)"):
        finder().fit(data, batch_size=1)


def test_corners_without_an_object_may_be_anything():
    labels = np.full((2, 7, 3, 4), -1.0)
    labels[:, 4:] = 0
    finder().fit(dl.DataSet(np.zeros((2, 2, 3, 4)), labels))


@pytest.mark.parametrize(
    "corners",
    [
        pytest.param((2.1, 1.1, 3.5, 1.9), id="larger than its cell"),
        pytest.param((-1.1, -1.2, 6.1, 4.2), id="beyond the image"),
        pytest.param((3, 1.1, 5 + 1e-6, 1.9), id="center at an edge, rounded"),
    ],
)
def test_boxes_with_a_center_in_the_grid_are_fine(corners):
    labels = of_corners(corners, is_first=True)
    finder().fit(dl.DataSet(np.zeros((2, 2, 3, 4)), labels))

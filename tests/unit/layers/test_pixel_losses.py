"""Losses at each pixel and voxel: labels, masks and gradients."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.arrays.workspace import Workspace
from daskdl.errors import OptionError, ShapeError
from daskdl.nn.conf.input_type import Convolutional, Convolutional3D, Recurrent
from daskdl.nn.layers.layer import Layer
from tests.gradients import check_gradient

IMAGES = Convolutional(height=2, width=4, channels=3)
VOLUMES = Convolutional3D(depth=2, height=2, width=3, channels=3)
BATCH = 3


def built(conf, input_type=IMAGES):
    return Layer(conf.filled({}, input_type, "me"), input_type, "me", Workspace())


def one_hot(rng, shape):
    return np.eye(shape[-1])[rng.integers(0, shape[-1], shape[:-1])]


def shape_of(input_type):
    return (BATCH, *input_type.shape)


def masks(rng, input_type):
    """Return a mask of each shape, by what it is of."""
    pixels = rng.integers(0, 2, shape_of(input_type)[:-1]).astype(float)
    return {
        "examples": np.array([1.0, 0, 1]),
        "examples, a column": np.array([[1.0], [0], [1]]),
        "pixels": pixels,
        "pixels, with channels": pixels[..., None],
        "outputs": rng.integers(0, 2, shape_of(input_type)).astype(float),
    }


MASKS = list(masks(np.random.default_rng(0), IMAGES))
KINDS = {"images": (dl.CnnLoss, IMAGES), "volumes": (dl.Cnn3DLoss, VOLUMES)}


@pytest.mark.parametrize("mask", [None, *MASKS])
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_the_loss_are_central_differences(rng, kind, mask):
    conf, input_type = KINDS[kind]
    layer = built(conf(loss="xent"), input_type)
    shape = shape_of(input_type)
    labels = rng.integers(0, 2, shape).astype(float)
    mask = masks(rng, input_type).get(mask)

    def loss_and_grad(vector):
        layer.forward(vector.reshape(shape), training=True)
        return layer.loss.score(labels, mask), layer.backward_loss(labels, mask).ravel()

    check_gradient(loss_and_grad, rng.standard_normal(shape).ravel())


@pytest.mark.parametrize("mask", MASKS)
def test_a_mask_drops_what_its_zeros_are_of(rng, mask):
    layer = built(dl.CnnLoss(loss="xent"))
    layer.forward(rng.standard_normal(shape_of(IMAGES)), training=True)
    labels = rng.integers(0, 2, shape_of(IMAGES)).astype(float)
    mask = masks(rng, IMAGES)[mask]
    scores = layer.loss.score_examples(labels, mask)
    dropped = mask.reshape(*mask.shape, *(1,) * (4 - mask.ndim)) == 0
    labels = np.where(dropped, 0.5, labels)
    np.testing.assert_array_equal(layer.loss.score_examples(labels, mask), scores)


def test_the_loss_is_that_of_the_channels_of_each_pixel(rng):
    layer = built(dl.CnnLoss())
    output = layer.forward(rng.standard_normal(shape_of(IMAGES)), training=True)
    labels = one_hot(rng, shape_of(IMAGES))
    expected = -(labels * np.log(output)).sum(axis=(1, 2, 3))
    np.testing.assert_allclose(layer.loss.score_examples(labels), expected)


def test_the_score_is_the_sum_of_the_examples(rng):
    layer = built(dl.Cnn3DLoss(), VOLUMES)
    layer.forward(rng.standard_normal(shape_of(VOLUMES)), training=True)
    labels = one_hot(rng, shape_of(VOLUMES))
    expected = layer.loss.score_examples(labels).sum()
    np.testing.assert_allclose(layer.loss.score(labels), expected)


def test_channels_last_at_the_border_changes_no_score(rng):
    """DL4J takes the softmax over the height then, and fails to score examples."""
    x, labels = rng.standard_normal(shape_of(IMAGES)), one_hot(rng, shape_of(IMAGES))
    scores = []
    for input_type in (IMAGES, IMAGES.replaced(data_format="NHWC")):
        layer = built(dl.CnnLoss(), input_type)
        layer.forward(x, training=True)
        scores.append(layer.loss.score_examples(labels))
    np.testing.assert_array_equal(*scores)


def test_a_mask_that_arrives_counts_without_one_of_the_labels(rng):
    layer = built(dl.CnnLoss())
    mask = np.array([[1.0], [0], [1]])
    layer.forward(rng.standard_normal(shape_of(IMAGES)), training=True, mask=mask)
    assert layer.loss.score_examples(one_hot(rng, shape_of(IMAGES)))[1] == 0


def test_a_mask_of_the_labels_takes_its_place(rng):
    layer = built(dl.CnnLoss())
    mask = np.array([[1.0], [0], [1]])
    layer.forward(rng.standard_normal(shape_of(IMAGES)), training=True, mask=mask)
    assert layer.loss.score_examples(one_hot(rng, shape_of(IMAGES)), np.ones(3))[1] > 0


def test_other_masks_are_refused(rng):
    layer = built(dl.CnnLoss())
    layer.forward(rng.standard_normal(shape_of(IMAGES)), training=True)
    with pytest.raises(
        ShapeError, match=r"'me': the mask must have shape \(3, 1\), \(3, 2, 4\) or"
    ):
        layer.loss.score(one_hot(rng, shape_of(IMAGES)), np.ones((3, 4, 2)))


def test_labels_of_classes_have_one_channel():
    conf = dl.CnnLoss(loss="sparse_mcxent")
    assert conf.labels_type(IMAGES) == IMAGES.replaced(channels=1)


def test_labels_of_classes_score_like_one_hot_ones(rng):
    x, labels = rng.standard_normal(shape_of(IMAGES)), one_hot(rng, shape_of(IMAGES))
    classes = labels.argmax(axis=-1)[..., None].astype(float)
    plain, sparse = built(dl.CnnLoss()), built(dl.CnnLoss(loss="sparse_mcxent"))
    plain.forward(x, training=True)
    sparse.forward(x, training=True)
    np.testing.assert_allclose(sparse.loss.score(classes), plain.loss.score(labels))


@pytest.mark.parametrize(
    ("conf", "needs"), [(dl.CnnLoss(), "images"), (dl.Cnn3DLoss(), "volumes")]
)
def test_series_are_refused(conf, needs):
    with pytest.raises(OptionError, match=f"needs {needs}"):
        conf.output_type(Recurrent(size=3))


def test_images_train_pixel_by_pixel(rng):
    images = rng.standard_normal((4, 2, 5, 6))
    labels = np.eye(2)[(images[:, 0] > 0).astype(int)].transpose(0, 3, 1, 2)
    batch = dl.DataSet(images, labels)
    network = dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            input=Convolutional(height=5, width=6, channels=2),
            layers=[
                dl.Convolution2D(n_out=2, kernel_size=1, activation="identity"),
                dl.CnnLoss(),
            ],
            updater={"type": "adam", "learning_rate": 0.1},
        )
    )
    before = network.compute_score(batch)
    for _ in range(30):
        network.fit_minibatch(batch)
    assert network.compute_score(batch) < before / 2

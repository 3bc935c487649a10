"""A minibatch for every kind of layer: what peers compute forward and backward.

Sizes are such that a call takes a millisecond or some, as in a small network.
Standard library only.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LAYER = "layer"
CLASSES = 10
N_NUMBERS = 2000

ROWS = (512,)
SERIES = (64, 50)
IMAGES = (32, 28, 28)
VOLUMES = (8, 8, 16, 16)
LOGITS = {1: (CLASSES,), 2: (77, 50), 3: (CLASSES, 28, 28), 4: (CLASSES, 8, 16, 16)}

_IMAGE = {"kernel_size": [3, 3], "n_out": 32, "convolution_mode": "same"}
_RELU = {"activation": "relu"}
_HEADS = {"n_out": 64, "n_heads": 4, "project_input": True}
_CUBE = {"kernel_size": [2, 2, 2], "stride": [2, 2, 2]}
_LSTM = {"type": "lstm", "n_out": 128}
_DENSE = {"type": "dense", "n_out": 512, **_RELU}


@dataclass(frozen=True)
class LayerCase:
    """A layer, and what comes in.

    Parameters
    ----------
    conf : mapping
        The configuration, with its `type`.
    shape : tuple of int
        Of an example, features or channels first as in DL4J; class numbers, boxes and
        masks follow from it.
    is_numbers : bool
        Whether features are whole numbers below `N_NUMBERS`.
    is_masked : bool
        Whether half of the steps are masked.
    """

    conf: Mapping[str, Any]
    shape: tuple[int, ...]
    is_numbers: bool = False
    is_masked: bool = False

    @property
    def batch(self) -> int:
        """How many examples there are: more where each is a row."""
        return 256 if len(self.shape) == 1 else 32

    @property
    def kind(self) -> str:
        """The type of the layer."""
        return str(self.conf["type"])


def _layer(kind: str, shape: tuple[int, ...], **options: Any) -> LayerCase:
    return LayerCase({"type": kind, **options}, shape)


def _numbers(kind: str, shape: tuple[int, ...]) -> LayerCase:
    conf = {"type": kind, "n_in": N_NUMBERS, "n_out": 64}
    return LayerCase(conf, shape, is_numbers=True)


_ROW_CASES = [
    _layer("auto_encoder", ROWS, n_out=512, activation="sigmoid"),
    _layer("center_loss_output", ROWS, n_out=CLASSES),
    _layer("dense", ROWS, n_out=512, **_RELU),
    _layer("element_wise_multiplication", ROWS, n_out=ROWS[0], **_RELU),
    _numbers("embedding", (1,)),
    _numbers("embedding_sequence", (50,)),
    _layer("frozen", ROWS, layer=_DENSE),
    _layer("frozen_with_backprop", ROWS, layer=_DENSE),
    _layer("loss", LOGITS[1]),
    _layer("ocnn_output", ROWS, hidden_size=CLASSES, activation="tanh"),
    _layer("output", ROWS, n_out=CLASSES),
    _layer("repeat_vector", ROWS, n=50),
    _layer(
        "variational_autoencoder", ROWS, n_out=32, encoder_layer_sizes=[256], **_RELU
    ),
]
_SERIES_CASES = [
    _layer("bidirectional", SERIES, layer=_LSTM),
    _layer("capsule", (288, 8), capsules=10, capsule_dimensions=16),
    _layer("capsule_strength", (288, 8)),
    _layer("convolution1d", SERIES, n_out=64, kernel_size=3, **_RELU),
    _layer("cropping1d", SERIES, cropping=[2, 3]),
    _layer("graves_bidirectional_lstm", SERIES, n_out=64),
    _layer("graves_lstm", SERIES, n_out=128),
    _layer("last_time_step_layer", SERIES, layer=_LSTM),
    _layer("learned_self_attention", SERIES, n_queries=10, **_HEADS),
    _layer("locally_connected1d", SERIES, n_out=32, kernel_size=3, **_RELU),
    _layer("lstm", SERIES, n_out=128),
    LayerCase({"type": "mask"}, SERIES, is_masked=True),
    _layer("mask_zero", SERIES, layer=_LSTM),
    _layer("recurrent_attention", SERIES, **_HEADS),
    _layer("rnn_loss", LOGITS[2]),
    _layer("rnn_output", SERIES, n_out=77),
    _layer("self_attention", SERIES, **_HEADS),
    _layer("simple_rnn", SERIES, n_out=128),
    _layer("subsampling1d", SERIES, kernel_size=2, stride=2),
    _layer("time_distributed", SERIES, layer=_DENSE),
    _layer("upsampling1d", SERIES, size=2),
    _layer("zero_padding1d", SERIES, padding=[2, 3]),
]
_IMAGE_CASES = [
    _layer("activation", IMAGES, activation="tanh"),
    _layer("batch_normalization", IMAGES),
    _layer("cnn_loss", LOGITS[3]),
    _layer("convolution2d", IMAGES, **_IMAGE, **_RELU),
    _layer("cropping2d", IMAGES, cropping=[1, 2, 1, 2]),
    _layer(
        "deconvolution2d",
        IMAGES,
        n_out=16,
        kernel_size=[2, 2],
        stride=[2, 2],
        **_RELU,
    ),
    _layer(
        "depthwise_convolution2d",
        IMAGES,
        kernel_size=[3, 3],
        convolution_mode="same",
        **_RELU,
    ),
    _layer("dropout", IMAGES, keep_probability=0.5),
    _layer("global_pooling", IMAGES, pooling_type="max"),
    _layer("local_response_normalization", IMAGES),
    _layer("locally_connected2d", (8, 14, 14), n_out=8, kernel_size=[3, 3], **_RELU),
    _layer("prelu", IMAGES, shared_axes=[2, 3]),
    _layer(
        "primary_capsules",
        IMAGES,
        capsule_dimensions=8,
        channels=4,
        kernel_size=[5, 5],
    ),
    _layer("separable_convolution2d", IMAGES, **_IMAGE, **_RELU),
    _layer("space_to_batch", IMAGES, blocks=[2, 2]),
    _layer("space_to_depth", IMAGES, block_size=2),
    _layer(
        "subsampling",
        IMAGES,
        pooling_type="max",
        kernel_size=[3, 3],
        stride=[2, 2],
        convolution_mode="truncate",
    ),
    _layer("upsampling2d", IMAGES, size=[2, 2]),
    _layer("yolo2_output", (30, 13, 13), bounding_boxes=[[1, 1.5], [2, 1]]),
    _layer("zero_padding", IMAGES, padding=[1, 2, 1, 2]),
]
_VOLUME_CASES = [
    _layer("cnn3d_loss", LOGITS[4]),
    _layer(
        "convolution3d",
        VOLUMES,
        n_out=8,
        kernel_size=[3, 3, 3],
        convolution_mode="same",
        **_RELU,
    ),
    _layer("cropping3d", VOLUMES, cropping=[1, 1, 1, 2, 1, 2]),
    _layer("deconvolution3d", VOLUMES, n_out=8, **_CUBE, **_RELU),
    _layer("subsampling3d", VOLUMES, convolution_mode="truncate", **_CUBE),
    _layer("upsampling3d", VOLUMES, size=[2, 2, 2]),
    _layer("zero_padding3d", VOLUMES, padding=[1, 1, 1, 2, 1, 2]),
]

# By the type of the layer, as in a configuration.
LAYER_CASES = {
    case.kind: case
    for case in (*_ROW_CASES, *_SERIES_CASES, *_IMAGE_CASES, *_VOLUME_CASES)
}

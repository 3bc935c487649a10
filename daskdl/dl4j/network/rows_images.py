"""Layers that pool, resize or measure images and series in DL4J's JSON."""

from dataclasses import replace

from daskdl.dl4j.network.enumerations import ONE_OF_TWO, POOLING, one_and
from daskdl.dl4j.network.functions import ARRAY, LOSS
from daskdl.dl4j.network.json_objects import Key
from daskdl.dl4j.network.layer_keys import (
    ACTIVATED,
    ANY,
    LOSS_KEY,
    UNSIZED,
    UNUSED_BASE,
    WINDOW,
    WINDOW_1D,
    keys,
    layer_row,
    no_params,
    unused,
)

ROWS = [
    layer_row(
        "SubsamplingLayer",
        "subsampling",
        {
            **ANY,
            **WINDOW,
            "avgPoolIncludePadInDivisor": Key("include_padding", missing=True),
            "poolingType": Key("pooling_type", POOLING),
            **keys(pnorm="pnorm", eps="eps"),
        },
        no_params(cnn2dDataFormat="NCHW", cudnnAllowFallback=True),
    ),
    layer_row(
        "Subsampling1DLayer",
        "subsampling1d",
        {
            **ANY,
            **WINDOW_1D,
            # DL4J pools images that are one pixel wide.
            "kernelSize": Key("kernel_size", one_and(1)),
            "padding": Key("padding", one_and(0)),
            "avgPoolIncludePadInDivisor": Key("include_padding", missing=True),
            "poolingType": Key("pooling_type", POOLING),
            **keys(pnorm="pnorm", eps="eps"),
        },
        no_params(cnn2dDataFormat="NCHW", cudnnAllowFallback=True),
    ),
    layer_row(
        "Subsampling3DLayer",
        "subsampling3d",
        {**ANY, **WINDOW, "poolingType": Key("pooling_type", POOLING)},
        no_params(cudnnAllowFallback=True, dataFormat="NCDHW"),
    ),
    layer_row(
        "GlobalPoolingLayer",
        "global_pooling",
        {
            **ANY,
            "poolingType": Key("pooling_type", POOLING),
            **keys(
                collapseDimensions="collapse_dimensions",
                pnorm="pnorm",
                poolingDimensions="pooling_dimensions",
            ),
        },
        no_params(),
    ),
    layer_row(
        "CnnLossLayer",
        "cnn_loss",
        {**ANY, **ACTIVATED, **LOSS_KEY},
        {**UNUSED_BASE, **UNSIZED, "format": "NCHW"},
    ),
    layer_row(
        "Cnn3DLossLayer",
        "cnn3d_loss",
        {**ANY, **ACTIVATED, **LOSS_KEY},
        {**UNUSED_BASE, **UNSIZED, "dataFormat": "NCDHW"},
    ),
    layer_row(
        "ZeroPaddingLayer",
        "zero_padding",
        {**ANY, **keys(padding="padding")},
        no_params(dataFormat="NCHW"),
    ),
    layer_row(
        "ZeroPadding1DLayer",
        "zero_padding1d",
        {**ANY, **keys(padding="padding")},
        no_params(),
    ),
    layer_row(
        "ZeroPadding3DLayer",
        "zero_padding3d",
        {**ANY, **keys(padding="padding")},
        no_params(),
    ),
    layer_row(
        "Cropping2D",
        "cropping2d",
        {**ANY, **keys(cropping="cropping")},
        no_params(dataFormat="NCHW"),
        folder="convolutional.",
    ),
    layer_row(
        "Cropping1D",
        "cropping1d",
        {**ANY, **keys(cropping="cropping")},
        no_params(),
        folder="convolutional.",
    ),
    layer_row(
        "Cropping3D",
        "cropping3d",
        {**ANY, **keys(cropping="cropping")},
        no_params(),
        folder="convolutional.",
    ),
    layer_row(
        "Upsampling2D",
        "upsampling2d",
        {**ANY, **keys(size="size")},
        no_params(format="NCHW"),
    ),
    layer_row(
        "Upsampling1D",
        "upsampling1d",
        {**ANY, "size": Key("size", ONE_OF_TWO)},
        no_params(),
    ),
    layer_row(
        "Upsampling3D",
        "upsampling3d",
        {**ANY, **keys(size="size")},
        no_params(dataFormat="NCDHW"),
    ),
    layer_row(
        "LocalResponseNormalization",
        "local_response_normalization",
        {**ANY, **keys(alpha="alpha", beta="beta", k="k", n="n")},
        no_params(cudnnAllowFallback=True, dataFormat="NCHW"),
    ),
    layer_row(
        "SpaceToDepthLayer",
        "space_to_depth",
        {**ANY, **keys(blockSize="block_size")},
        no_params(dataFormat="NCHW"),
    ),
    layer_row(
        "SpaceToBatchLayer",
        "space_to_batch",
        {**ANY, **keys(blocks="blocks", padding="padding")},
        no_params(format="NCHW"),
    ),
    layer_row(
        "Yolo2OutputLayer",
        "yolo2_output",
        {
            **ANY,
            "boundingBoxes": Key("bounding_boxes", ARRAY),
            **keys(lambdaCoord="lambda_coord", lambdaNoObj="lambda_no_obj"),
            "lossClassPredictions": Key("loss_class_predictions", LOSS),
            "lossPositionScale": Key("loss_position_scale", LOSS),
        },
        unused(format="NCHW"),
        folder="objdetect.",
    ),
]

# DL4J's other names of the same layers.
_OTHER_NAMES = {"SubsamplingLayer": "Pooling2D", "Subsampling1DLayer": "Pooling1D"}
ROWS += [
    replace(row, java=replace(row.java, name=_OTHER_NAMES[row.java.name]))
    for row in ROWS
    if row.java.name in _OTHER_NAMES
]

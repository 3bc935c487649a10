"""Convolutions and their kin in DL4J's JSON."""

from daskdl.dl4j.network.enumerations import CONVOLUTION_MODE, ONE
from daskdl.dl4j.network.functions import ENUMERATED_ACTIVATION
from daskdl.dl4j.network.json_objects import Key
from daskdl.dl4j.network.layer_keys import (
    ANY,
    CONV,
    CUDNN,
    FF,
    HAS_BIAS,
    NO_NORMALIZATION,
    SAMEDIFF,
    SAMEDIFF_KEPT,
    SIZED,
    UNUSED_BASE,
    WINDOW,
    WINDOW_1D,
    keys,
    layer_row,
)

ROWS = [
    layer_row("ConvolutionLayer", "convolution2d", CONV, CUDNN),
    layer_row("Convolution2D", "convolution2d", CONV, CUDNN),
    layer_row(
        "Convolution1DLayer",
        "convolution1d",
        {**FF, **HAS_BIAS, **WINDOW_1D},
        {**CUDNN, "rnnDataFormat": "NCW"},
    ),
    layer_row(
        "Convolution1D",
        "convolution1d",
        {**FF, **HAS_BIAS, **WINDOW_1D},
        {**CUDNN, "rnnDataFormat": "NCW"},
    ),
    layer_row(
        "Convolution3D",
        "convolution3d",
        CONV,
        {**CUDNN, "dataFormat": "NCDHW", "mode": "Same"},
    ),
    layer_row("Deconvolution2D", "deconvolution2d", CONV, CUDNN),
    layer_row(
        "Deconvolution3D", "deconvolution3d", CONV, {**CUDNN, "dataFormat": "NCDHW"}
    ),
    layer_row(
        "SeparableConvolution2D",
        "separable_convolution2d",
        {**CONV, **keys(depthMultiplier="depth_multiplier")},
        CUDNN,
    ),
    layer_row(
        "DepthwiseConvolution2D",
        "depthwise_convolution2d",
        {**CONV, **keys(depthMultiplier="depth_multiplier")},
        CUDNN,
    ),
    layer_row(
        "LocallyConnected1D",
        "locally_connected1d",
        {
            **SAMEDIFF,
            **SIZED,
            **HAS_BIAS,
            "activation": Key("activation", ENUMERATED_ACTIVATION),
            "cm": Key("convolution_mode", CONVOLUTION_MODE),
            "dilation": Key("dilation", ONE),
            "inputSize": Key("input_size", ONE),
            "kernel": Key("kernel_size", ONE),
            "padding": Key("padding", ONE),
            "stride": Key("stride", ONE),
        },
        {**SAMEDIFF_KEPT, "featureDim": 0, "outputSize": 0, "paddingR": 0},
    ),
    layer_row(
        "LocallyConnected2D",
        "locally_connected2d",
        {
            **SAMEDIFF,
            **SIZED,
            **HAS_BIAS,
            "activation": Key("activation", ENUMERATED_ACTIVATION),
            "cm": Key("convolution_mode", CONVOLUTION_MODE),
            **keys(
                dilation="dilation",
                inputSize="input_size",
                kernel="kernel_size",
                padding="padding",
                stride="stride",
            ),
        },
        {
            **SAMEDIFF_KEPT,
            "featureDim": 0,
            "format": "NCHW",
            "outputSize": None,
            "paddingBr": None,
        },
    ),
    layer_row(
        "PrimaryCapsules",
        "primary_capsules",
        {
            **SAMEDIFF,
            **HAS_BIAS,
            **WINDOW,
            **keys(
                capsuleDimensions="capsule_dimensions",
                capsules="capsules",
                channels="channels",
                leak="leak",
                useRelu="use_relu",
            ),
        },
        {**SAMEDIFF_KEPT, "inputChannels": 0},
    ),
    layer_row(
        "CapsuleLayer",
        "capsule",
        {
            **SAMEDIFF,
            **HAS_BIAS,
            **keys(
                capsuleDimensions="capsule_dimensions",
                capsules="capsules",
                routings="routings",
            ),
        },
        {**SAMEDIFF_KEPT, "inputCapsuleDimensions": 0, "inputCapsules": 0},
    ),
    layer_row(
        "CapsuleStrengthLayer",
        "capsule_strength",
        ANY,
        {
            **SAMEDIFF_KEPT,
            **NO_NORMALIZATION,
            "biasUpdater": None,
            "regularization": [],
            "regularizationBias": [],
            "updater": UNUSED_BASE["iupdater"],
            "weightInit": None,
        },
    ),
]

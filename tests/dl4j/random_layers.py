"""Layers drawn at random: descriptions for java/, kind of data by kind of data.

Each function of a table takes a Draw and the data format, and returns a description.
"""

from tests.dl4j.random_parts import activation, build, learning, new


def with_weights(draw, name, *calls, args=(), **options):
    """Return a layer that has parameters, with some options of its own."""
    extra = []
    if draw.chance(0.5):
        extra.append(("activation", options.get("activation") or activation(draw)))
    if draw.chance(0.5):
        extra += learning(draw, probability=0.2)
    return build(name, *calls, *extra, args=args)


def with_same_diff(draw, name, *calls):
    """Return a layer that DL4J computes with SameDiff.

    Its builder knows no norms of gradients, and asks for its shapes before they are
    known if it has constraints.
    """
    extra = learning(draw, probability=0.2) if draw.chance(0.5) else []
    unknown = ("constrain", "gradient")
    return build(
        name, *calls, *(call for call in extra if not call[0].startswith(unknown))
    )


def frozen(draw, layer, *, hears_nothing=False):
    """Wrap a layer in one that keeps it as it is, sometimes.

    Parameters
    ----------
    hears_nothing : bool
        Whether nothing learns in front of it: behind what does, DL4J's FrozenLayer
        leaves the last update for the gradient.
    """
    if not draw.chance(0.15) or layer.get("build") in _NEVER_FROZEN:
        return layer
    if hears_nothing and "nOut" in str(layer) and draw.chance(0.5):
        return new("FrozenLayer", layer)
    if layer.get("build") == "BatchNormalization":
        # Its gradient reads what DL4J keeps of training only, and throws.
        return layer
    return new("FrozenLayerWithBackprop", layer)


# DL4J counts other parameters of autoencoders than it gives them, and what activates
# overwrites in inference mode what its own gradient needs.
_NEVER_FROZEN = (
    "ActivationLayer",
    "AutoEncoder",
    "PReLULayer",
    "VariationalAutoencoder",
)


def n_out(draw):
    return ("nOut", draw.randint(2, 5))


def dense(draw, _format=None):
    # DL4J miscounts the parameters of a normalized layer without a bias.
    unusual = [[], [], [], [("hasBias", False)], [("hasLayerNorm", True)]]
    return with_weights(draw, "DenseLayer", n_out(draw), *draw.choice(unusual))


def batch_normalization(draw, _format=None):
    return with_weights(
        draw,
        "BatchNormalization",
        *draw.some(
            0.25,
            [
                ("lockGammaBeta", True),
                ("useLogStd", True),
                ("decay", 0.8),
                ("eps", 1e-3),
            ],
        ),
    )


def auto_encoder(draw, _format=None):
    return with_weights(draw, "AutoEncoder", n_out(draw), ("corruptionLevel", 0.0))


def variational(draw, _format=None):
    return with_weights(
        draw,
        "VariationalAutoencoder",
        n_out(draw),
        ("encoderLayerSizes", [3]),
        ("decoderLayerSizes", [3, 2]),
    )


def element_wise(draw, _format=None):
    if draw.size is None:
        return dense(draw)
    sizes = (("nIn", draw.size), ("nOut", draw.size))
    return build("ElementWiseMultiplicationLayer", *sizes)


def prelu(draw, _format=None):
    if draw.size is None:
        return dense(draw)
    return with_weights(
        draw, "PReLULayer", ("inputShape", [draw.size]), activation="IDENTITY"
    )


# The others of DL4J overwrite their input, and whatever else reads that sees it.
SHARING = [dense, dense, batch_normalization, auto_encoder, variational, element_wise]
ROWS = [
    *SHARING,
    prelu,
    lambda draw, _: build("ActivationLayer", ("activation", activation(draw))),
]


def lstm(draw, data_format):
    calls = draw.some(
        0.3,
        [("gateActivationFunction", "HARDSIGMOID"), ("forgetGateBiasInit", 0.5)],
    )
    return with_weights(draw, "LSTM", n_out(draw), *calls, *_steps(data_format))


def graves(draw, data_format):
    return with_weights(draw, "GravesLSTM", n_out(draw), *_steps(data_format))


def graves_both_ways(draw, data_format):
    return with_weights(
        draw, "GravesBidirectionalLSTM", n_out(draw), *_steps(data_format)
    )


def simple(draw, data_format):
    return with_weights(draw, "SimpleRnn", n_out(draw), *_steps(data_format))


def one_way(draw, data_format):
    return draw.choice([lstm, graves, simple])(draw, data_format)


def both_ways(draw, data_format):
    mode = draw.choice(["CONCAT", "ADD", "MUL", "AVERAGE"])
    inside = one_way(draw, data_format)
    return new("Bidirectional", mode, inside)


def mask_zero(draw, data_format):
    return new("MaskZeroLayer", one_way(draw, data_format), 0.0)


def _steps(data_format):
    return () if data_format == "NCW" else (("dataFormat", data_format),)


def self_attention(draw, _format):
    size = 2 * draw.randint(1, 2)
    return with_same_diff(
        draw,
        "SelfAttentionLayer",
        ("nOut", size),
        ("nHeads", 2),
        ("projectInput", True),
    )


def recurrent_attention(draw, _format):
    return with_same_diff(
        draw,
        "RecurrentAttentionLayer",
        *(("nOut", 2), ("nHeads", 1)),
        ("projectInput", True),
        ("activation", activation(draw)),
    )


def convolution1d(draw, _format):
    return with_weights(
        draw,
        "Convolution1DLayer",
        n_out(draw),
        ("kernelSize", 2),
        ("convolutionMode", draw.choice(["Same", "Truncate", "Causal"])),
    )


def subsampling1d(draw, _format):
    return build(
        "Subsampling1DLayer",
        *(("kernelSize", 2), ("stride", draw.randint(1, 2))),
        ("convolutionMode", draw.choice(["Same", "Truncate"])),
        args=[draw.choice(["MAX", "AVG"])],
    )


ONE_WAY = [lstm, lstm, graves, simple, mask_zero, dense]
# All that DL4J computes where the features come last; it has no batch normalization
# of series at all.
LAST = [*ONE_WAY, both_ways, both_ways, graves_both_ways]
# What changes the length of series; DL4J keeps the length of their masks.
RESIZING = [
    lambda draw, _: build("Upsampling1D", ("size", 2)),
    lambda draw, _: build("ZeroPadding1DLayer", args=[1]),
    lambda draw, _: build("Cropping1D", args=[1]),
]
SERIES = [
    *ONE_WAY,
    both_ways,
    both_ways,
    graves_both_ways,
    convolution1d,
    subsampling1d,
    self_attention,
    recurrent_attention,
    lambda draw, _: build("ActivationLayer", ("activation", activation(draw))),
    lambda draw, _: new("MaskLayer"),
]


def _window(draw, *, stride=1):
    kernel = [draw.randint(1, 3), draw.randint(1, 3)]
    return (
        ("kernelSize", kernel),
        ("stride", [draw.randint(1, stride), draw.randint(1, stride)]),
        ("convolutionMode", draw.choice(["Same", "Truncate", "Truncate"])),
    )


def _images(data_format):
    return () if data_format == "NCHW" else (("dataFormat", data_format),)


def _convolving(name, *more, stride=2):
    def drawn(draw, data_format):
        return with_weights(
            draw,
            name,
            *_window(draw, stride=stride),
            *more,
            *(() if name.startswith("Depth") else (n_out(draw),)),
            *draw.some(0.25, [("hasBias", False)]),
            *_images(data_format),
        )

    return drawn


convolution = _convolving("ConvolutionLayer")

IMAGES = [
    convolution,
    convolution,
    _convolving("Deconvolution2D"),
    _convolving("SeparableConvolution2D", ("depthMultiplier", 2)),
    _convolving("DepthwiseConvolution2D", ("depthMultiplier", 2), stride=1),
    batch_normalization,
    lambda draw, _: build("ActivationLayer", ("activation", activation(draw))),
    lambda draw, data_format: build(
        "SubsamplingLayer",
        ("pnorm", 2),
        *_window(draw, stride=2),
        *_images(data_format),
        args=[draw.choice(["MAX", "AVG", "PNORM"])],
    ),
    lambda draw, data_format: build("Upsampling2D", ("size", 2), *_images(data_format)),
    lambda draw, data_format: build(
        "ZeroPaddingLayer", *_images(data_format), args=[1, 0, 0, 2]
    ),
    lambda draw, data_format: build(
        "Cropping2D", *_images(data_format), args=[1, 0, 0, 1]
    ),
    lambda draw, _: build("LocalResponseNormalization", ("n", 3)),
    lambda draw, _: with_same_diff(
        draw,
        "LocallyConnected2D",
        *(n_out(draw), ("kernelSize", [2, 2]), ("stride", [1, 1])),
    ),
]


def _volume(name, *more):
    def drawn(draw, _format):
        return with_weights(
            draw,
            name,
            n_out(draw),
            ("kernelSize", [2, 1, 2]),
            ("convolutionMode", draw.choice(["Same", "Truncate"])),
            *draw.some(0.25, [("hasBias", False)]),
            *more,
        )

    return drawn


VOLUMES = [
    _volume("Convolution3D"),
    _volume("Convolution3D"),
    _volume("Deconvolution3D"),
    batch_normalization,
    lambda draw, _: build("ActivationLayer", ("activation", activation(draw))),
    lambda draw, _: build("Upsampling3D", ("size", 2)),
    lambda draw, _: build(
        "Subsampling3DLayer",
        *(("kernelSize", [2, 2, 2]), ("stride", [1, 1, 1])),
        args=[draw.choice(["MAX", "AVG"])],
    ),
    lambda draw, _: build("ZeroPadding3DLayer", args=[1]),
]

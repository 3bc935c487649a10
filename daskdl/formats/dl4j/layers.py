"""One row a layer: its class in DL4J's JSON, and which property is which option.

Properties that say nothing here, such as the choice of a cuDNN algorithm, are kept in
the option `dl4j` of the layer if they differ from what DL4J writes by default, so that
a network goes back as it came.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

from daskdl.checks import did_you_mean
from daskdl.errors import FormatError
from daskdl.formats.dl4j.functions import (
    ACTIVATION,
    ARRAY,
    ENUMERATED_ACTIVATION,
    ENUMERATED_INIT,
    ENUMERATED_LOSS,
    LOSS,
    WEIGHT_INIT,
)
from daskdl.formats.dl4j.java import (
    PLAIN,
    Codec,
    JavaClass,
    Json,
    Key,
    expect_list,
    expect_mapping,
    in_order,
)
from daskdl.formats.dl4j.reconstructions import RECONSTRUCTION
from daskdl.formats.dl4j.training import (
    CONSTRAINTS,
    DROPOUT,
    NOISE,
    UPDATER,
    read_regularization,
    write_regularization,
)

GROUP = "daskdl.dl4j_layers"
PACKAGE = "org.deeplearning4j.nn.conf.layers."


def _title(option: str) -> str:
    return "".join(word.capitalize() for word in option.split("_"))


def enumeration(*names: str, title: bool = False) -> Codec:
    """Return the codec of names that DL4J writes in capitals, or ``LikeThis``."""
    written = {name: _title(name) if title else name.upper() for name in names}
    read = {java.lower(): name for name, java in written.items()}

    def reading(value: Json, where: str) -> Any:
        name = read.get(str(value).lower())
        if name is None:
            raise FormatError(
                f"{where}: must be one of {', '.join(written.values())}, got {value!r}."
            )
        return name

    return Codec(reading, lambda name: written[name])


GRADIENT_NORMALIZATIONS = {
    "none": "None",
    "renormalize_l2_per_layer": "RenormalizeL2PerLayer",
    "renormalize_l2_per_param_type": "RenormalizeL2PerParamType",
    "clip_elementwise_absolute_value": "ClipElementWiseAbsoluteValue",
    "clip_l2_per_layer": "ClipL2PerLayer",
    "clip_l2_per_param_type": "ClipL2PerParamType",
}
_NORMALIZATION_NAMES = {java: name for name, java in GRADIENT_NORMALIZATIONS.items()}


def _read_normalization(value: Json, where: str) -> str:
    if value not in _NORMALIZATION_NAMES:
        raise FormatError(
            f"{where}: must be one of {', '.join(_NORMALIZATION_NAMES)}, got {value!r}."
        )
    return _NORMALIZATION_NAMES[value]


NORMALIZATION = Codec(_read_normalization, GRADIENT_NORMALIZATIONS.__getitem__)
CONVOLUTION_MODE = enumeration("strict", "truncate", "same", "causal", title=True)
POOLING = enumeration("max", "avg", "sum", "pnorm")
BIDIRECTIONAL_MODE = enumeration("concat", "add", "mul", "average")


def _first(value: Json, where: str) -> Any:
    return value[0] if isinstance(value, list) and value else value


def _only(value: Any) -> Json:
    return value[0] if isinstance(value, list | tuple) else value


def _twice(value: Any) -> Json:
    return [_only(value)] * 2


def _one_and(second: int) -> Codec:
    """Return the codec of pairs of which the second is always the same."""
    return Codec(_first, lambda value: [_only(value), second])


#: Of layers on series, whose properties are single numbers.
ONE = Codec(_first, _only)
#: Of layers on series, whose properties are pairs of which the second means nothing.
ONE_OF_TWO = Codec(_first, _twice)


def _read_layer(value: Json, where: str) -> dict[str, Any]:
    return read_layer(value, where)


def _write_layer(value: Mapping[str, Any]) -> Json:
    return write_layer(value)


LAYER = Codec(_read_layer, _write_layer)

_NORMALIZED = {
    "gradientNormalization": Key("gradient_normalization", NORMALIZATION),
    "gradientNormalizationThreshold": Key("gradient_normalization_threshold"),
}
NAMED = {"layerName": Key("name")}
ANY = {**NAMED, "idropout": Key("dropout", DROPOUT)}
TRAINED = {
    **ANY,
    **_NORMALIZED,
    "biasUpdater": Key("bias_updater", UPDATER),
    "constraints": Key("constraints", CONSTRAINTS),
    "iupdater": Key("updater", UPDATER),
}
_NOISE = {"weightNoise": Key("weight_noise", NOISE)}
ACTIVATED = {"activationFn": Key("activation", ACTIVATION)}
BASE = {
    **TRAINED,
    **ACTIVATED,
    **_NOISE,
    "biasInit": Key("bias_init"),
    "weightInitFn": Key("weight_init", WEIGHT_INIT),
}
SIZED = {"nin": Key("n_in"), "nout": Key("n_out")}
FF = {**BASE, **SIZED}
HAS_BIAS = {"hasBias": Key("has_bias")}
LAYER_NORM = {"hasLayerNorm": Key("has_layer_norm"), "gainInit": Key("gain_init")}
LOSS_KEY = {"lossFn": Key("loss", LOSS)}
WINDOW = {
    "convolutionMode": Key("convolution_mode", CONVOLUTION_MODE),
    "dilation": Key("dilation"),
    "kernelSize": Key("kernel_size"),
    "padding": Key("padding"),
    "stride": Key("stride"),
}
WINDOW_1D = {
    **WINDOW,
    **{
        name: Key(WINDOW[name].option, ONE_OF_TWO)
        for name in ("dilation", "kernelSize", "padding", "stride")
    },
}
CONV = {**FF, **HAS_BIAS, **WINDOW}
RECURRENT = {**FF, "weightInitFnRecurrent": Key("weight_init_recurrent", WEIGHT_INIT)}
GATED = {
    **RECURRENT,
    "forgetGateBiasInit": Key("forget_gate_bias_init"),
    "gateActivationFn": Key("gate_activation", ACTIVATION),
}
#: Layers that DL4J made of SameDiff have enumerations where others have classes.
SAMEDIFF = {
    **ANY,
    **_NORMALIZED,
    "biasUpdater": Key("bias_updater", UPDATER),
    "constraints": Key("constraints", CONSTRAINTS),
    "updater": Key("updater", UPDATER),
    "weightInit": Key("weight_init", ENUMERATED_INIT),
}
ATTENTION = {
    **SAMEDIFF,
    **SIZED,
    "headSize": Key("head_size"),
    "nheads": Key("n_heads"),
    "projectInput": Key("project_input"),
}

_TIME = {"timeDistributedFormat": None}
_NO_NORMALIZATION = {
    "constraints": None,
    "gradientNormalization": "None",
    "gradientNormalizationThreshold": 1.0,
}
_CUDNN = {
    **_TIME,
    "cnn2dDataFormat": "NCHW",
    "cudnnAlgoMode": "PREFER_FASTEST",
    "cudnnAllowFallback": True,
    "cudnnBwdDataAlgo": None,
    "cudnnBwdFilterAlgo": None,
    "cudnnFwdAlgo": None,
}
_GATES = {**_TIME, "helperAllowFallback": True, "rnnDataFormat": "NCW"}
_UNSIZED = {**_TIME, "nin": 0, "nout": 0}
_SAMEDIFF_KEPT = {"layerParams": None, "paramWeightInit": None}
# What DL4J's base class of layers has and the layers without parameters do not use.
_UNUSED_BASE = {
    "activationFn": {"@class": "org.nd4j.linalg.activations.impl.ActivationIdentity"},
    "biasInit": 0.0,
    "biasUpdater": None,
    "constraints": None,
    "gainInit": 1.0,
    "gradientNormalization": "None",
    "gradientNormalizationThreshold": 1.0,
    "iupdater": {
        "@class": "org.nd4j.linalg.learning.config.Sgd",
        "learningRate": 0.001,
    },
    "regularization": [],
    "regularizationBias": [],
    "weightInitFn": {"@class": "org.deeplearning4j.nn.weights.WeightInitXavier"},
    "weightNoise": None,
}


@dataclass(frozen=True)
class LayerRow:
    """One layer in DL4J's JSON.

    Parameters
    ----------
    java : JavaClass
        Class, `type` here, and properties.
    package : str
        Of the class.
    is_regularized : bool
        Whether it has lists of regularizations.
    """

    java: JavaClass
    package: str = PACKAGE
    is_regularized: bool = False

    def read(self, value: Mapping[str, Json], where: str) -> dict[str, Any]:
        """Return the mapping of a layer; what means nothing here goes to `dl4j`."""
        mapping = self.java.read(value, where)
        if self.is_regularized:
            for name, suffix in _SUFFIXES.items():
                given = value.get(name) or []
                mapping.update(read_regularization(given, f"{where}.{name}", suffix))
        kept = {name: item for name, item in value.items() if self._is_kept(name, item)}
        return {**mapping, "dl4j": kept} if kept else mapping

    def write(self, layer: Mapping[str, Any]) -> dict[str, Json]:
        """Return the properties of a layer in DL4J's order, with the class."""
        kept = layer.get("dl4j") or {}
        values = self.java.write(layer)
        if self.is_regularized:
            for name, suffix in _SUFFIXES.items():
                values[name] = write_regularization(layer, suffix)
        values.update(self._still_true(kept, layer))
        name = f"{self.package}{self.java.name}"
        return {"@class": name, **in_order(values, self.java.first)}

    def _is_kept(self, name: str, item: Json) -> bool:
        """Whether the property would not be written as it is from the options."""
        if name == "@class":
            return False
        suffix = self._suffix(name)
        if suffix is not None:
            written: Json = write_regularization(self._penalties(name, item), suffix)
            return bool(written != item)
        key = self.java.keys.get(name)
        if key is None:
            return name not in self.java.ignored or item != self.java.ignored[name]
        return item is not None and bool(_rewritten(key, item) != item)

    def _still_true(
        self, kept: Mapping[str, Json], layer: Mapping[str, Any]
    ) -> dict[str, Json]:
        """Leave out what stood for an option that has been changed since."""
        return {
            name: item for name, item in kept.items() if self._means(name, item, layer)
        }

    def _means(self, name: str, item: Json, layer: Mapping[str, Any]) -> bool:
        if self._suffix(name) is not None:
            penalties = self._penalties(name, item)
            return all(layer.get(key) == value for key, value in penalties.items())
        key = self.java.keys.get(name)
        if key is None:
            return True
        option = layer.get(key.option)
        return option is not None and bool(
            _rewritten(key, item) == key.codec.write(option)
        )

    def _suffix(self, name: str) -> str | None:
        return _SUFFIXES.get(name) if self.is_regularized else None

    def _penalties(self, name: str, item: Json) -> dict[str, Any]:
        return read_regularization(item or [], name, _SUFFIXES[name])


def _rewritten(key: Key, item: Json) -> Json:
    return key.codec.write(key.codec.read(item, key.option))


_SUFFIXES = {"regularization": "", "regularizationBias": "_bias"}


def _row(
    name: str,
    tag: str,
    keys: Mapping[str, Key],
    ignored: Mapping[str, Json] | None = None,
    *,
    folder: str = "",
    first: tuple[str, ...] = (),
) -> LayerRow:
    is_regularized = "iupdater" in keys or "updater" in keys
    # Where nothing is normalized there is no gain to begin with.
    gain = {"gainInit": 1.0} if "biasInit" in keys and "gainInit" not in keys else {}
    java = JavaClass(name, tag, keys, first, {**gain, **(ignored or {})})
    return LayerRow(java, PACKAGE + folder, is_regularized)


def _kept(**ignored: Json) -> dict[str, Json]:
    return {**_NO_NORMALIZATION, **ignored}


def keys(**options: str) -> dict[str, Key]:
    """Return keys whose values stay as they are: property=option."""
    return {name: Key(option) for name, option in options.items()}


_ROWS = [
    _row(
        "DenseLayer",
        "dense",
        {**FF, **HAS_BIAS, **LAYER_NORM},
        _TIME,
    ),
    _row("OutputLayer", "output", {**FF, **HAS_BIAS, **LOSS_KEY}, _TIME),
    _row(
        "RnnOutputLayer",
        "rnn_output",
        {**FF, **HAS_BIAS, **LOSS_KEY},
        {**_TIME, "rnnDataFormat": "NCW"},
    ),
    _row("ConvolutionLayer", "convolution2d", CONV, _CUDNN),
    _row("Convolution2D", "convolution2d", CONV, _CUDNN),
    _row(
        "Convolution1DLayer",
        "convolution1d",
        {**FF, **HAS_BIAS, **WINDOW_1D},
        {**_CUDNN, "rnnDataFormat": "NCW"},
    ),
    _row(
        "Convolution1D",
        "convolution1d",
        {**FF, **HAS_BIAS, **WINDOW_1D},
        {**_CUDNN, "rnnDataFormat": "NCW"},
    ),
    _row(
        "Convolution3D",
        "convolution3d",
        CONV,
        {**_CUDNN, "dataFormat": "NCDHW", "mode": "Same"},
    ),
    _row("Deconvolution2D", "deconvolution2d", CONV, _CUDNN),
    _row("Deconvolution3D", "deconvolution3d", CONV, {**_CUDNN, "dataFormat": "NCDHW"}),
    _row(
        "SeparableConvolution2D",
        "separable_convolution2d",
        {**CONV, **keys(depthMultiplier="depth_multiplier")},
        _CUDNN,
    ),
    _row(
        "DepthwiseConvolution2D",
        "depthwise_convolution2d",
        {**CONV, **keys(depthMultiplier="depth_multiplier")},
        _CUDNN,
    ),
    _row(
        "SubsamplingLayer",
        "subsampling",
        {
            **ANY,
            **WINDOW,
            "avgPoolIncludePadInDivisor": Key("include_padding", missing=True),
            "poolingType": Key("pooling_type", POOLING),
            **keys(pnorm="pnorm", eps="eps"),
        },
        _kept(cnn2dDataFormat="NCHW", cudnnAllowFallback=True),
    ),
    _row(
        "Subsampling1DLayer",
        "subsampling1d",
        {
            **ANY,
            **WINDOW_1D,
            # DL4J pools images that are one pixel wide.
            "kernelSize": Key("kernel_size", _one_and(1)),
            "padding": Key("padding", _one_and(0)),
            "avgPoolIncludePadInDivisor": Key("include_padding", missing=True),
            "poolingType": Key("pooling_type", POOLING),
            **keys(pnorm="pnorm", eps="eps"),
        },
        _kept(cnn2dDataFormat="NCHW", cudnnAllowFallback=True),
    ),
    _row(
        "Subsampling3DLayer",
        "subsampling3d",
        {**ANY, **WINDOW, "poolingType": Key("pooling_type", POOLING)},
        _kept(cudnnAllowFallback=True, dataFormat="NCDHW"),
    ),
    _row(
        "BatchNormalization",
        "batch_normalization",
        {
            **TRAINED,
            **keys(
                beta="beta",
                decay="decay",
                eps="eps",
                gamma="gamma",
                lockGammaBeta="lock_gamma_beta",
                minibatch="minibatch",
            ),
            # A file of an old release has no such property; what its parameters are
            # called decides, see formats/dl4j/configuration.py.
            "useLogStd": Key("use_log_std", missing=True),
        },
        {
            **_UNSIZED,
            "activationFn": {
                "@class": "org.nd4j.linalg.activations.impl.ActivationSigmoid"
            },
            "biasInit": 0.0,
            "cnn2DFormat": "NCHW",
            "cudnnAllowFallback": True,
            "gainInit": 1.0,
            "regularization": [],
            "regularizationBias": [],
            "weightInitFn": _UNUSED_BASE["weightInitFn"],
            "weightNoise": None,
        },
    ),
    _row("LSTM", "lstm", GATED, _GATES),
    _row("GravesLSTM", "graves_lstm", GATED, _GATES),
    _row("GravesBidirectionalLSTM", "graves_bidirectional_lstm", GATED, _GATES),
    _row(
        "SimpleRnn",
        "simple_rnn",
        {**RECURRENT, **LAYER_NORM},
        {**_TIME, "rnnDataFormat": "NCW"},
        folder="recurrent.",
    ),
    _row(
        "Bidirectional",
        "bidirectional",
        {
            **NAMED,
            "bwd": Key("layer", LAYER),
            "fwd": Key("layer", LAYER),
            "mode": Key("mode", BIDIRECTIONAL_MODE),
        },
        _kept(idropout=None, nin=0, nout=0, rnndataFormat="NCW"),
        folder="recurrent.",
    ),
    _row(
        "LastTimeStep",
        "last_time_step_layer",
        {**NAMED, "underlying": Key("layer", LAYER)},
        _kept(idropout=None),
        folder="recurrent.",
    ),
    _row(
        "TimeDistributed",
        "time_distributed",
        {**NAMED, "underlying": Key("layer", LAYER)},
        _kept(idropout=None, rnnDataFormat="NCW"),
        folder="recurrent.",
        first=("rnnDataFormat", "underlying"),
    ),
    _row("MaskLayer", "mask", NAMED, _kept(idropout=None), folder="util."),
    _row(
        "MaskZeroLayer",
        "mask_zero",
        {
            **NAMED,
            **keys(maskingValue="masking_value"),
            "underlying": Key("layer", LAYER),
        },
        _kept(idropout=None),
        folder="util.",
        first=("maskingValue", "underlying"),
    ),
    _row(
        "EmbeddingLayer",
        "embedding",
        {**FF, "hasBias": Key("has_bias", missing=True)},
        _TIME,
    ),
    _row(
        "EmbeddingSequenceLayer",
        "embedding_sequence",
        {
            **FF,
            **HAS_BIAS,
            **keys(
                inferInputLength="infer_input_length",
                inputLength="input_length",
                outputFormat="output_format",
            ),
        },
        _TIME,
    ),
    _row("DropoutLayer", "dropout", ANY, {**_UNUSED_BASE, **_UNSIZED}),
    _row("ActivationLayer", "activation", {**ANY, **ACTIVATED}, _kept()),
    _row(
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
        {**_NO_NORMALIZATION, "gradientNormalizationThreshold": 0.0},
    ),
    _row(
        "LossLayer",
        "loss",
        {**ANY, **ACTIVATED, **LOSS_KEY},
        {**_UNUSED_BASE, **_UNSIZED},
    ),
    _row(
        "CnnLossLayer",
        "cnn_loss",
        {**ANY, **ACTIVATED, **LOSS_KEY},
        {**_UNUSED_BASE, **_UNSIZED, "format": "NCHW"},
    ),
    _row(
        "Cnn3DLossLayer",
        "cnn3d_loss",
        {**ANY, **ACTIVATED, **LOSS_KEY},
        {**_UNUSED_BASE, **_UNSIZED, "dataFormat": "NCDHW"},
    ),
    _row(
        "RnnLossLayer",
        "rnn_loss",
        {**ANY, **ACTIVATED, **LOSS_KEY},
        {**_UNUSED_BASE, **_UNSIZED, "rnnDataFormat": "NCW"},
    ),
    _row(
        "ZeroPaddingLayer",
        "zero_padding",
        {**ANY, **keys(padding="padding")},
        _kept(dataFormat="NCHW"),
    ),
    _row(
        "ZeroPadding1DLayer",
        "zero_padding1d",
        {**ANY, **keys(padding="padding")},
        _kept(),
    ),
    _row(
        "ZeroPadding3DLayer",
        "zero_padding3d",
        {**ANY, **keys(padding="padding")},
        _kept(),
    ),
    _row(
        "Cropping2D",
        "cropping2d",
        {**ANY, **keys(cropping="cropping")},
        _kept(dataFormat="NCHW"),
        folder="convolutional.",
    ),
    _row(
        "Cropping1D",
        "cropping1d",
        {**ANY, **keys(cropping="cropping")},
        _kept(),
        folder="convolutional.",
    ),
    _row(
        "Cropping3D",
        "cropping3d",
        {**ANY, **keys(cropping="cropping")},
        _kept(),
        folder="convolutional.",
    ),
    _row(
        "Upsampling2D",
        "upsampling2d",
        {**ANY, **keys(size="size")},
        _kept(format="NCHW"),
    ),
    _row(
        "Upsampling1D",
        "upsampling1d",
        {**ANY, "size": Key("size", ONE_OF_TWO)},
        _kept(),
    ),
    _row(
        "Upsampling3D",
        "upsampling3d",
        {**ANY, **keys(size="size")},
        _kept(dataFormat="NCDHW"),
    ),
    _row(
        "LocalResponseNormalization",
        "local_response_normalization",
        {**ANY, **keys(alpha="alpha", beta="beta", k="k", n="n")},
        _kept(cudnnAllowFallback=True, dataFormat="NCHW"),
    ),
    _row(
        "SpaceToDepthLayer",
        "space_to_depth",
        {**ANY, **keys(blockSize="block_size")},
        _kept(dataFormat="NCHW"),
    ),
    _row(
        "SpaceToBatchLayer",
        "space_to_batch",
        {**ANY, **keys(blocks="blocks", padding="padding")},
        _kept(format="NCHW"),
    ),
    _row(
        "PReLULayer",
        "prelu",
        {
            **TRAINED,
            "weightInitFn": Key("weight_init", WEIGHT_INIT),
            **keys(inputShape="input_shape", sharedAxes="shared_axes"),
        },
        {**_UNUSED_BASE, "nin": 0, "nout": 0},
    ),
    _row(
        "ElementWiseMultiplicationLayer",
        "element_wise_multiplication",
        FF,
        _TIME,
        folder="misc.",
    ),
    _row(
        "RepeatVector",
        "repeat_vector",
        {**ANY, **keys(n="n", dataFormat="data_format")},
        {**_UNUSED_BASE, **_UNSIZED},
        folder="misc.",
    ),
    _row(
        "FrozenLayer",
        "frozen",
        {"layer": Key("layer", LAYER), **NAMED},
        _kept(idropout=None),
        folder="misc.",
        first=("layer",),
    ),
    _row(
        "FrozenLayerWithBackprop",
        "frozen_with_backprop",
        {"underlying": Key("layer", LAYER), **NAMED},
        _kept(idropout=None),
        folder="misc.",
    ),
    _row(
        "CenterLossOutputLayer",
        "center_loss_output",
        {
            **FF,
            **HAS_BIAS,
            **LOSS_KEY,
            "lambda": Key("lambda"),
            **keys(alpha="alpha", gradientCheck="gradient_check"),
        },
        _TIME,
    ),
    _row(
        "AutoEncoder",
        "auto_encoder",
        {
            **FF,
            "lossFunction": Key("loss", ENUMERATED_LOSS),
            **keys(
                corruptionLevel="corruption_level",
                sparsity="sparsity",
                visibleBiasInit="visible_bias_init",
            ),
        },
        _TIME,
    ),
    _row(
        "VariationalAutoencoder",
        "variational_autoencoder",
        {
            **FF,
            **keys(
                decoderLayerSizes="decoder_layer_sizes",
                encoderLayerSizes="encoder_layer_sizes",
                numSamples="num_samples",
            ),
            "outputDistribution": Key("reconstruction_distribution", RECONSTRUCTION),
            "pzxActivationFn": Key("pzx_activation", ACTIVATION),
        },
        {
            **_TIME,
            "lossFunction": "RECONSTRUCTION_CROSSENTROPY",
            "visibleBiasInit": 0.0,
        },
        folder="variational.",
    ),
    _row("SelfAttentionLayer", "self_attention", ATTENTION, _SAMEDIFF_KEPT),
    _row(
        "LearnedSelfAttentionLayer",
        "learned_self_attention",
        {**ATTENTION, **keys(nqueries="n_queries")},
        _SAMEDIFF_KEPT,
    ),
    _row(
        "RecurrentAttentionLayer",
        "recurrent_attention",
        {
            **ATTENTION,
            **HAS_BIAS,
            "activation": Key("activation", ENUMERATED_ACTIVATION),
        },
        {**_SAMEDIFF_KEPT, "timeSteps": -1},
    ),
    _row(
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
        {**_SAMEDIFF_KEPT, "featureDim": 0, "outputSize": 0, "paddingR": 0},
    ),
    _row(
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
            **_SAMEDIFF_KEPT,
            "featureDim": 0,
            "format": "NCHW",
            "outputSize": None,
            "paddingBr": None,
        },
    ),
    _row(
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
        {**_SAMEDIFF_KEPT, "inputChannels": 0},
    ),
    _row(
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
        {**_SAMEDIFF_KEPT, "inputCapsuleDimensions": 0, "inputCapsules": 0},
    ),
    _row(
        "CapsuleStrengthLayer",
        "capsule_strength",
        ANY,
        {
            **_SAMEDIFF_KEPT,
            **_NO_NORMALIZATION,
            "biasUpdater": None,
            "regularization": [],
            "regularizationBias": [],
            "updater": _UNUSED_BASE["iupdater"],
            "weightInit": None,
        },
    ),
    _row(
        "Yolo2OutputLayer",
        "yolo2_output",
        {
            **ANY,
            "boundingBoxes": Key("bounding_boxes", ARRAY),
            **keys(lambdaCoord="lambda_coord", lambdaNoObj="lambda_no_obj"),
            "lossClassPredictions": Key("loss_class_predictions", LOSS),
            "lossPositionScale": Key("loss_position_scale", LOSS),
        },
        _kept(format="NCHW"),
        folder="objdetect.",
    ),
]
ROWS = {row.java.name: row for row in _ROWS}
BY_TAG = {row.java.tag: row for row in reversed(_ROWS)}


def read_layer(value: Json, where: str) -> dict[str, Any]:
    """Return the mapping of a layer that an object of DL4J describes.

    Raises
    ------
    FormatError
        If the class is no layer known here, naming it and where to register it.
    """
    mapping = expect_mapping(value, where)
    full = mapping.get("@class")
    if not isinstance(full, str):
        raise FormatError(f"{where}: must name its class as '@class', got {full!r}.")
    name = full.rpartition(".")[2]
    row = ROWS.get(name)
    if row is not None and full == f"{row.package}{name}":
        return row.read(mapping, where)
    for found in entry_points(group=GROUP):
        if found.name == full:
            layer: dict[str, Any] = found.load().read(mapping, where)
            return layer
    raise FormatError(
        f"{where}: must be a layer that is known here, got {full!r}."
        f"{did_you_mean(name, ROWS)} Register a reader of that class in the "
        f"entry-point group {GROUP!r}."
    )


def write_layer(layer: Mapping[str, Any]) -> dict[str, Json]:
    """Return the object of DL4J that describes a layer given as a mapping.

    Raises
    ------
    FormatError
        If DL4J has no such layer.
    """
    tag = layer["type"]
    row = BY_TAG.get(tag)
    if row is None:
        raise FormatError(
            f"DL4J: has no layer {tag!r}. Save the network in daskdl's own format."
        )
    return row.write(layer)


__all__ = [
    "BY_TAG",
    "PLAIN",
    "ROWS",
    "expect_list",
    "read_layer",
    "write_layer",
]

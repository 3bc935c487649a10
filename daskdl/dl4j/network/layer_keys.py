"""Properties that layers of DL4J share, in groups, and our options for them."""

from collections.abc import Mapping

from daskdl.dl4j.network.enumerations import (
    CONVOLUTION_MODE,
    NORMALIZATION,
    ONE_OF_TWO,
)
from daskdl.dl4j.network.functions import ACTIVATION, ENUMERATED_INIT, LOSS, WEIGHT_INIT
from daskdl.dl4j.network.json_objects import JavaClass, Json, Key
from daskdl.dl4j.network.layer_row import PACKAGE, LayerRow
from daskdl.dl4j.network.training import CONSTRAINTS, DROPOUT, NOISE, UPDATER

NORMALIZED = {
    "gradientNormalization": Key("gradient_normalization", NORMALIZATION),
    "gradientNormalizationThreshold": Key("gradient_normalization_threshold"),
}
NAMED = {"layerName": Key("name")}
ANY = {**NAMED, "idropout": Key("dropout", DROPOUT)}
TRAINED = {
    **ANY,
    **NORMALIZED,
    "biasUpdater": Key("bias_updater", UPDATER),
    "constraints": Key("constraints", CONSTRAINTS),
    "iupdater": Key("updater", UPDATER),
}
NOISY = {"weightNoise": Key("weight_noise", NOISE)}
ACTIVATED = {"activationFn": Key("activation", ACTIVATION)}
BASE = {
    **TRAINED,
    **ACTIVATED,
    **NOISY,
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
    **NORMALIZED,
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

TIME = {"timeDistributedFormat": None}
NO_NORMALIZATION = {
    "constraints": None,
    "gradientNormalization": "None",
    "gradientNormalizationThreshold": 1.0,
}
CUDNN = {
    **TIME,
    "cnn2dDataFormat": "NCHW",
    "cudnnAlgoMode": "PREFER_FASTEST",
    "cudnnAllowFallback": True,
    "cudnnBwdDataAlgo": None,
    "cudnnBwdFilterAlgo": None,
    "cudnnFwdAlgo": None,
}
GATES = {**TIME, "helperAllowFallback": True, "rnnDataFormat": "NCW"}
UNSIZED = {**TIME, "nin": 0, "nout": 0}
SAMEDIFF_KEPT = {"layerParams": None, "paramWeightInit": None}
# What DL4J's base class of layers has and the layers without parameters do not use.
UNUSED_BASE = {
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


def layer_row(
    name: str,
    tag: str,
    keys: Mapping[str, Key],
    ignored: Mapping[str, Json] | None = None,
    *,
    folder: str = "",
    first: tuple[str, ...] = (),
) -> LayerRow:
    """Return the row of a layer.

    Parameters
    ----------
    name, tag : str
        The class in DL4J, without its package, and the `type` here.
    keys, ignored, first
        See :class:`~daskdl.dl4j.network.json_objects.JavaClass`.
    folder : str
        What comes behind the package of most layers, with a dot at its end.
    """
    is_regularized = "iupdater" in keys or "updater" in keys
    # Where nothing is normalized there is no gain to begin with.
    gain = {"gainInit": 1.0} if "biasInit" in keys and "gainInit" not in keys else {}
    java = JavaClass(name, tag, keys, first, {**gain, **(ignored or {})})
    return LayerRow(java, PACKAGE + folder, is_regularized)


def unused(**ignored: Json) -> dict[str, Json]:
    """Return properties without a meaning here, of a layer that learns nothing."""
    return {**NO_NORMALIZATION, **ignored}


def no_params(**ignored: Json) -> dict[str, Json]:
    """Return the same of DL4J's NoParamLayer, whose threshold is never set."""
    return {**NO_NORMALIZATION, "gradientNormalizationThreshold": 0.0, **ignored}


def keys(**options: str) -> dict[str, Key]:
    """Return keys whose values stay as they are: property=option."""
    return {name: Key(option) for name, option in options.items()}

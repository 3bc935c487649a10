"""Feed-forward layers in DL4J's JSON, and those of any kind of input."""

from daskdl.dl4j.network.functions import ACTIVATION, ENUMERATED_LOSS, WEIGHT_INIT
from daskdl.dl4j.network.json_objects import JavaClass, Key
from daskdl.dl4j.network.layer_keys import (
    ACTIVATED,
    ANY,
    FF,
    HAS_BIAS,
    LAYER_NORM,
    LOSS_KEY,
    NAMED,
    TIME,
    TRAINED,
    UNSIZED,
    UNUSED_BASE,
    keys,
    layer_row,
    no_params,
    unused,
)
from daskdl.dl4j.network.layer_row import LAYER, LayerRow
from daskdl.dl4j.network.reconstructions import RECONSTRUCTION

ROWS = [
    layer_row(
        "DenseLayer",
        "dense",
        {**FF, **HAS_BIAS, **LAYER_NORM},
        TIME,
    ),
    layer_row("OutputLayer", "output", {**FF, **HAS_BIAS, **LOSS_KEY}, TIME),
    layer_row(
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
            # called decides, see configuration.py.
            "useLogStd": Key("use_log_std", missing=True),
        },
        {
            **UNSIZED,
            "activationFn": {
                "@class": "org.nd4j.linalg.activations.impl.ActivationSigmoid"
            },
            "biasInit": 0.0,
            "cnn2DFormat": "NCHW",
            "cudnnAllowFallback": True,
            "gainInit": 1.0,
            "regularization": [],
            "regularizationBias": [],
            "weightInitFn": UNUSED_BASE["weightInitFn"],
            "weightNoise": None,
        },
    ),
    layer_row(
        "EmbeddingLayer",
        "embedding",
        {**FF, "hasBias": Key("has_bias", missing=True)},
        TIME,
    ),
    layer_row(
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
        TIME,
    ),
    layer_row("DropoutLayer", "dropout", ANY, {**UNUSED_BASE, **UNSIZED}),
    layer_row("ActivationLayer", "activation", {**ANY, **ACTIVATED}, no_params()),
    layer_row(
        "LossLayer",
        "loss",
        {**ANY, **ACTIVATED, **LOSS_KEY},
        {**UNUSED_BASE, **UNSIZED},
    ),
    layer_row(
        "PReLULayer",
        "prelu",
        {
            **TRAINED,
            "weightInitFn": Key("weight_init", WEIGHT_INIT),
            **keys(inputShape="input_shape", sharedAxes="shared_axes"),
        },
        {**UNUSED_BASE, "nin": 0, "nout": 0},
    ),
    layer_row(
        "ElementWiseMultiplicationLayer",
        "element_wise_multiplication",
        FF,
        TIME,
        folder="misc.",
    ),
    layer_row(
        "RepeatVector",
        "repeat_vector",
        {**ANY, **keys(n="n", dataFormat="data_format")},
        {**UNUSED_BASE, **UNSIZED},
        folder="misc.",
    ),
    layer_row(
        "FrozenLayer",
        "frozen",
        {"layer": Key("layer", LAYER), **NAMED},
        unused(idropout=None),
        folder="misc.",
        first=("layer",),
    ),
    layer_row(
        "FrozenLayerWithBackprop",
        "frozen_with_backprop",
        {"underlying": Key("layer", LAYER), **NAMED},
        unused(idropout=None),
        folder="misc.",
    ),
    layer_row(
        "CenterLossOutputLayer",
        "center_loss_output",
        {
            **FF,
            **HAS_BIAS,
            **LOSS_KEY,
            "lambda": Key("lambda"),
            **keys(alpha="alpha", gradientCheck="gradient_check"),
        },
        TIME,
    ),
    LayerRow(
        JavaClass(
            "OCNNOutputLayer",
            "ocnn_output",
            {
                **FF,
                **keys(
                    configureR="configure_r",
                    hiddenSize="hidden_size",
                    initialRValue="initial_r_value",
                    nu="nu",
                    windowSize="window_size",
                ),
            },
            ("configureR", "hiddenSize", "initialRValue", "nu", "windowSize"),
            # Of the last only DL4J knows what to do with it: nothing is stored that
            # could be r's next value.
            {**TIME, "gainInit": 1.0, "hasBias": True, "lastEpochSinceRUpdated": 0},
        ),
        "org.deeplearning4j.nn.conf.ocnn.",
        is_regularized=True,
    ),
    layer_row(
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
        TIME,
    ),
    layer_row(
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
            **TIME,
            "lossFunction": "RECONSTRUCTION_CROSSENTROPY",
            "visibleBiasInit": 0.0,
        },
        folder="variational.",
    ),
]

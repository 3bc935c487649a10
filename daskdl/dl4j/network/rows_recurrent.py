"""Layers of time series in DL4J's JSON."""

from daskdl.dl4j.network.enumerations import BIDIRECTIONAL_MODE
from daskdl.dl4j.network.functions import ENUMERATED_ACTIVATION
from daskdl.dl4j.network.json_objects import Key
from daskdl.dl4j.network.layer_keys import (
    ACTIVATED,
    ANY,
    ATTENTION,
    FF,
    GATED,
    GATES,
    HAS_BIAS,
    LAYER_NORM,
    LOSS_KEY,
    NAMED,
    RECURRENT,
    SAMEDIFF_KEPT,
    TIME,
    UNSIZED,
    UNUSED_BASE,
    keys,
    layer_row,
    no_params,
    unused,
)
from daskdl.dl4j.network.layer_row import LAYER

ROWS = [
    layer_row(
        "RnnOutputLayer",
        "rnn_output",
        {**FF, **HAS_BIAS, **LOSS_KEY},
        {**TIME, "rnnDataFormat": "NCW"},
    ),
    layer_row("LSTM", "lstm", GATED, GATES),
    layer_row("GravesLSTM", "graves_lstm", GATED, GATES),
    layer_row("GravesBidirectionalLSTM", "graves_bidirectional_lstm", GATED, GATES),
    layer_row(
        "SimpleRnn",
        "simple_rnn",
        {**RECURRENT, **LAYER_NORM},
        {**TIME, "rnnDataFormat": "NCW"},
        folder="recurrent.",
    ),
    layer_row(
        "Bidirectional",
        "bidirectional",
        {
            **NAMED,
            "bwd": Key("layer", LAYER),
            "fwd": Key("layer", LAYER),
            "mode": Key("mode", BIDIRECTIONAL_MODE),
        },
        unused(idropout=None, nin=0, nout=0, rnndataFormat="NCW"),
        folder="recurrent.",
    ),
    layer_row(
        "LastTimeStep",
        "last_time_step_layer",
        {**NAMED, "underlying": Key("layer", LAYER)},
        unused(idropout=None),
        folder="recurrent.",
    ),
    layer_row(
        "TimeDistributed",
        "time_distributed",
        {**NAMED, "underlying": Key("layer", LAYER)},
        unused(idropout=None, rnnDataFormat="NCW"),
        folder="recurrent.",
        first=("rnnDataFormat", "underlying"),
    ),
    layer_row("MaskLayer", "mask", NAMED, no_params(idropout=None), folder="util."),
    layer_row(
        "MaskZeroLayer",
        "mask_zero",
        {
            **NAMED,
            **keys(maskingValue="masking_value"),
            "underlying": Key("layer", LAYER),
        },
        unused(idropout=None),
        folder="util.",
        first=("maskingValue", "underlying"),
    ),
    layer_row(
        "RnnLossLayer",
        "rnn_loss",
        {**ANY, **ACTIVATED, **LOSS_KEY},
        {**UNUSED_BASE, **UNSIZED, "rnnDataFormat": "NCW"},
    ),
    layer_row("SelfAttentionLayer", "self_attention", ATTENTION, SAMEDIFF_KEPT),
    layer_row(
        "LearnedSelfAttentionLayer",
        "learned_self_attention",
        {**ATTENTION, **keys(nqueries="n_queries")},
        SAMEDIFF_KEPT,
    ),
    layer_row(
        "RecurrentAttentionLayer",
        "recurrent_attention",
        {
            **ATTENTION,
            **HAS_BIAS,
            "activation": Key("activation", ENUMERATED_ACTIVATION),
        },
        {**SAMEDIFF_KEPT, "timeSteps": -1},
    ),
]

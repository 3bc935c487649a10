"""Networks whose layers ONNX covers: for each kind one or several with its options."""

from daskdl.nn.conf.input_type import (
    Convolutional,
    Convolutional3D,
    ConvolutionalFlat,
    FeedForward,
    Recurrent,
)
from daskdl.nn.conf.network import (
    ComputationGraphConfiguration,
    MultiLayerConfiguration,
)
from daskdl.nn.graph import ComputationGraph
from daskdl.nn.multilayer import MultiLayerNetwork

ROWS = FeedForward(size=6)
SERIES = Recurrent(size=4)
STEPS = Recurrent(size=4, time_steps=7, data_format="NWC")
IMAGES = Convolutional(height=9, width=8, channels=3)
LAST = Convolutional(height=9, width=8, channels=3, data_format="NHWC")
VOLUMES = Convolutional3D(depth=5, height=6, width=7, channels=2)
OPEN = Convolutional(channels=3)
NUMBERS = FeedForward(size=1)

OUT = {"type": "output", "n_out": 3}
SERIES_OUT = {"type": "rnn_output", "n_out": 3}
POOL = {"type": "global_pooling", "pooling_type": "avg"}
CONV = {"type": "convolution2d", "n_out": 4, "kernel_size": 3, "activation": "tanh"}
CONV1D = {"type": "convolution1d", "n_out": 4, "kernel_size": 3, "activation": "tanh"}
CONV3D = {"type": "convolution3d", "n_out": 3, "kernel_size": 2, "activation": "tanh"}
DEEP = {"type": "separable_convolution2d", "n_out": 5, "kernel_size": 3}
WIDE = {"type": "depthwise_convolution2d", "kernel_size": 3, "depth_multiplier": 2}
BACK = {"type": "deconvolution2d", "n_out": 4, "kernel_size": 3}
POOLING = {"type": "subsampling", "kernel_size": 3, "stride": 2}
LSTM = {"type": "lstm", "n_out": 5}
GRAVES = {"type": "graves_lstm", "n_out": 5}
DENSE = {"type": "dense", "n_out": 5, "activation": "tanh"}


def sequence(input_type, *layers, **options):
    conf = MultiLayerConfiguration(input=input_type, layers=list(layers), **options)
    return MultiLayerNetwork(conf)


def graph(inputs, vertices, *outputs):
    conf = ComputationGraphConfiguration(
        inputs=inputs, vertices=vertices, outputs=list(outputs)
    )
    return ComputationGraph(conf)


# The layers, and what goes in; several networks of a kind differ in their options.
LAYERS = {
    "dense": (ROWS, DENSE, OUT),
    "one-class output": (
        ROWS,
        DENSE,
        {"type": "ocnn_output", "hidden_size": 3, "activation": "sigmoid"},
    ),
    "dense without bias": (ROWS, {**DENSE, "has_bias": False}, OUT),
    "dense with norm": (ROWS, {**DENSE, "has_layer_norm": True}, OUT),
    "dense with norm, without bias": (
        ROWS,
        {**DENSE, "has_layer_norm": True, "has_bias": False},
        OUT,
    ),
    "dense on steps": (SERIES, DENSE, SERIES_OUT),
    "dense on steps without bias": (SERIES, {**DENSE, "has_bias": False}, SERIES_OUT),
    "dense on images": (IMAGES, DENSE, OUT),
    "dense on channels last": (LAST, DENSE, OUT),
    "dense on volumes": (VOLUMES, DENSE, OUT),
    "auto encoder": (ROWS, {"type": "auto_encoder", "n_out": 5}, OUT),
    "center loss": (ROWS, {"type": "center_loss_output", "n_out": 3}),
    "loss": (ROWS, DENSE, {"type": "loss", "activation": "softmax"}),
    "dropout": (ROWS, {"type": "dropout", "keep_probability": 0.5}, OUT),
    "mask": (SERIES, {"type": "mask"}, SERIES_OUT),
    "activation": (IMAGES, {"type": "activation", "activation": "softmax"}, OUT),
    "activation, last": (LAST, {"type": "activation", "activation": "softmax"}, OUT),
    "activation of steps": (
        SERIES,
        {"type": "activation", "activation": "softmax"},
        SERIES_OUT,
    ),
    "element-wise": (ROWS, {"type": "element_wise_multiplication"}, OUT),
    "repeat": (ROWS, {"type": "repeat_vector", "n": 3}, SERIES_OUT),
    "prelu": (IMAGES, {"type": "prelu", "weight_init": "normal"}, OUT),
    "prelu by channel": (
        IMAGES,
        {"type": "prelu", "shared_axes": [2, 3], "weight_init": "normal"},
        OUT,
    ),
    "prelu of steps": (STEPS, {"type": "prelu", "weight_init": "normal"}, SERIES_OUT),
    "prelu of rows": (ROWS, {"type": "prelu", "weight_init": "normal"}, OUT),
    "convolution": (IMAGES, CONV, OUT),
    "convolution, same": (
        IMAGES,
        {**CONV, "convolution_mode": "same", "stride": 2, "kernel_size": [4, 3]},
        OUT,
    ),
    "convolution, open": (OPEN, {**CONV, "convolution_mode": "same"}, POOL, OUT),
    "convolution, open, strided": (
        OPEN,
        {**CONV, "convolution_mode": "same", "stride": 2},
        POOL,
        OUT,
    ),
    "convolution, open, dilated": (
        OPEN,
        {**CONV, "convolution_mode": "same", "dilation": 2, "kernel_size": [2, 3]},
        POOL,
        OUT,
    ),
    "convolution, padded": (
        LAST,
        {**CONV, "padding": [1, 2], "stride": [2, 1], "dilation": [1, 2]},
        OUT,
    ),
    "convolution, softmax": (IMAGES, {**CONV, "activation": "softmax"}, OUT),
    "convolution, softmax, last": (LAST, {**CONV, "activation": "softmax"}, OUT),
    "convolution without bias": (IMAGES, {**CONV, "has_bias": False}, OUT),
    "flat": (ConvolutionalFlat(height=9, width=8, channels=3), CONV, OUT),
    "convolution of series": (SERIES, CONV1D, SERIES_OUT),
    "convolution, causal": (
        SERIES,
        {**CONV1D, "convolution_mode": "causal", "dilation": 2},
        SERIES_OUT,
    ),
    "convolution of series, softmax": (
        SERIES,
        {**CONV1D, "activation": "softmax"},
        SERIES_OUT,
    ),
    "convolution of series, softmax, last": (
        STEPS,
        {**CONV1D, "activation": "softmax"},
        SERIES_OUT,
    ),
    "convolution of volumes": (VOLUMES, CONV3D, OUT),
    "deconvolution": (IMAGES, {**BACK, "stride": 2, "padding": 1}, OUT),
    "deconvolution, same": (
        IMAGES,
        {**BACK, "stride": 2, "kernel_size": 4, "convolution_mode": "same"},
        OUT,
    ),
    "deconvolution, gaps": (
        IMAGES,
        {**BACK, "stride": 4, "kernel_size": 3, "convolution_mode": "same"},
        OUT,
    ),
    "deconvolution of volumes": (
        VOLUMES,
        {"type": "deconvolution3d", "n_out": 3, "kernel_size": 2, "stride": 2},
        OUT,
    ),
    "depthwise": (IMAGES, WIDE, OUT),
    "depthwise, same": (IMAGES, {**WIDE, "convolution_mode": "same"}, OUT),
    "separable": (IMAGES, {**DEEP, "depth_multiplier": 2}, OUT),
    "max pooling": (IMAGES, POOLING, OUT),
    "max pooling, dilated": (
        IMAGES,
        {**POOLING, "kernel_size": 2, "dilation": 2, "padding": 1},
        OUT,
    ),
    "max pooling, same": (IMAGES, {**POOLING, "convolution_mode": "same"}, OUT),
    "max pooling, open": (OPEN, {**POOLING, "convolution_mode": "same"}, POOL, OUT),
    "max pooling, gaps": (
        IMAGES,
        {**POOLING, "kernel_size": 1, "convolution_mode": "same"},
        OUT,
    ),
    "average pooling": (IMAGES, {**POOLING, "pooling_type": "avg", "padding": 1}, OUT),
    "average pooling, all": (
        IMAGES,
        {**POOLING, "pooling_type": "avg", "padding": 1, "include_padding": True},
        OUT,
    ),
    "average pooling, same": (
        IMAGES,
        {**POOLING, "pooling_type": "avg", "convolution_mode": "same"},
        OUT,
    ),
    "average pooling, same, all": (
        IMAGES,
        {
            **POOLING,
            "pooling_type": "avg",
            "convolution_mode": "same",
            "include_padding": True,
        },
        OUT,
    ),
    "sum pooling, same": (
        IMAGES,
        {**POOLING, "pooling_type": "sum", "convolution_mode": "same"},
        OUT,
    ),
    "norm pooling": (IMAGES, {**POOLING, "pooling_type": "pnorm", "pnorm": 3}, OUT),
    "pooling of series": (
        SERIES,
        {"type": "subsampling1d", "pooling_type": "avg"},
        SERIES_OUT,
    ),
    "pooling of volumes": (VOLUMES, {"type": "subsampling3d"}, OUT),
    "global maximum": (IMAGES, {"type": "global_pooling", "pooling_type": "max"}, OUT),
    "global sum": (SERIES, {"type": "global_pooling", "pooling_type": "sum"}, OUT),
    "global norm": (
        SERIES,
        {"type": "global_pooling", "pooling_type": "pnorm", "pnorm": 3},
        OUT,
    ),
    "global mean in place": (
        VOLUMES,
        {**POOL, "collapse_dimensions": False},
        OUT,
    ),
    "batch norm": (ROWS, {"type": "batch_normalization"}, OUT),
    "batch norm of images": (IMAGES, {"type": "batch_normalization"}, OUT),
    "batch norm of steps": (
        SERIES,
        {"type": "batch_normalization", "use_log_std": False},
        SERIES_OUT,
    ),
    "batch norm, locked": (
        LAST,
        {
            "type": "batch_normalization",
            "lock_gamma_beta": True,
            "gamma": 2.0,
            "beta": 0.5,
        },
        OUT,
    ),
    "local response": (
        IMAGES,
        {"type": "local_response_normalization", "n": 4, "alpha": 0.1},
        OUT,
    ),
    "embedding": (NUMBERS, {"type": "embedding", "n_in": 9, "n_out": 4}, OUT),
    "embedding with bias": (
        NUMBERS,
        {"type": "embedding", "n_in": 9, "n_out": 4, "has_bias": True},
        OUT,
    ),
    "embedding of sequences": (
        Recurrent(size=1),
        {"type": "embedding_sequence", "n_in": 9, "n_out": 4},
        SERIES_OUT,
    ),
    "embedding of rows": (
        FeedForward(size=5),
        {"type": "embedding_sequence", "n_in": 9, "n_out": 4},
        SERIES_OUT,
    ),
    "lstm": (SERIES, LSTM, SERIES_OUT),
    "lstm, last": (STEPS, LSTM, SERIES_OUT),
    "lstm, other functions": (
        SERIES,
        {**LSTM, "activation": "softsign", "gate_activation": "hardsigmoid"},
        SERIES_OUT,
    ),
    "lstm, rectified": (
        SERIES,
        {**LSTM, "activation": {"type": "leakyrelu", "alpha": 0.2}},
        SERIES_OUT,
    ),
    "lstm, exponential": (SERIES, {**LSTM, "activation": "elu"}, SERIES_OUT),
    "lstm, thresholds": (
        SERIES,
        {**LSTM, "activation": {"type": "thresholdedrelu", "theta": 0.1}},
        SERIES_OUT,
    ),
    "graves": (SERIES, GRAVES, SERIES_OUT),
    "graves, both ways": (
        SERIES,
        {"type": "graves_bidirectional_lstm", "n_out": 5},
        SERIES_OUT,
    ),
    "simple": (SERIES, {"type": "simple_rnn", "n_out": 5}, SERIES_OUT),
    "simple, linear": (
        SERIES,
        {"type": "simple_rnn", "n_out": 5, "activation": "identity"},
        SERIES_OUT,
    ),
    "last step": (SERIES, {"type": "last_time_step_layer", "layer": LSTM}, OUT),
    "each step": (SERIES, {"type": "time_distributed", "layer": DENSE}, SERIES_OUT),
    "frozen": (ROWS, {"type": "frozen", "layer": DENSE}, OUT),
    "frozen, learning": (ROWS, {"type": "frozen_with_backprop", "layer": DENSE}, OUT),
    "steps lost": (
        SERIES,
        {"type": "rnn_loss", "activation": "softmax"},
    ),
    "pixels lost": (
        IMAGES,
        {"type": "cnn_loss", "activation": "softmax"},
    ),
    "voxels lost": (
        VOLUMES,
        {"type": "cnn3d_loss", "activation": "sigmoid", "loss": "xent"},
    ),
    "upsampling": (IMAGES, {"type": "upsampling2d", "size": [2, 3]}, OUT),
    "upsampling of series": (SERIES, {"type": "upsampling1d", "size": 2}, SERIES_OUT),
    "upsampling of volumes": (VOLUMES, {"type": "upsampling3d"}, OUT),
    "padding": (IMAGES, {"type": "zero_padding", "padding": [1, 2, 0, 3]}, OUT),
    "padding of series": (
        SERIES,
        {"type": "zero_padding1d", "padding": [1, 2]},
        SERIES_OUT,
    ),
    "padding of volumes": (VOLUMES, {"type": "zero_padding3d", "padding": 1}, OUT),
    "cropping": (IMAGES, {"type": "cropping2d", "cropping": [1, 2, 0, 3]}, OUT),
    "cropping of series": (
        SERIES,
        {"type": "cropping1d", "cropping": [1, 2]},
        SERIES_OUT,
    ),
    "cropping of volumes": (VOLUMES, {"type": "cropping3d", "cropping": 1}, OUT),
    "space to depth": (
        Convolutional(height=4, width=6, channels=3),
        {"type": "space_to_depth", "block_size": 2},
        OUT,
    ),
    "double": (ROWS, DENSE, OUT),
    **{
        f"both ways, {mode}": (
            SERIES,
            {"type": "bidirectional", "mode": mode, "layer": LSTM},
            SERIES_OUT,
        )
        for mode in ("concat", "add", "mul", "average")
    },
    "both ways, last": (
        SERIES,
        {
            "type": "bidirectional",
            "layer": {"type": "last_time_step_layer", "layer": LSTM},
        },
        OUT,
    ),
    # Preprocessors, as DL4J's files have them.
    "images to rows": (IMAGES, {**DENSE, "preprocessor": "cnn_to_feed_forward"}, OUT),
    "volumes to rows": (
        VOLUMES,
        {**DENSE, "preprocessor": "cnn3d_to_feed_forward"},
        OUT,
    ),
    "rows to images": (
        FeedForward(size=216),
        {
            **CONV,
            "preprocessor": {
                "type": "feed_forward_to_cnn",
                "height": 9,
                "width": 8,
                "channels": 3,
            },
        },
        OUT,
    ),
    "images to images": (
        IMAGES,
        {
            **CONV,
            "preprocessor": {
                "type": "feed_forward_to_cnn",
                "height": 9,
                "width": 8,
                "channels": 3,
            },
        },
        OUT,
    ),
    "steps to rows and back": (
        SERIES,
        {**DENSE, "preprocessor": "rnn_to_feed_forward"},
        {**LSTM, "preprocessor": "feed_forward_to_rnn"},
        SERIES_OUT,
    ),
    "rows to rows": (ROWS, {**DENSE, "preprocessor": "rnn_to_feed_forward"}, OUT),
    "steps to images and back": (
        Recurrent(size=48),
        {
            **CONV,
            "preprocessor": {
                "type": "rnn_to_cnn",
                "height": 4,
                "width": 4,
                "channels": 3,
            },
        },
        {**LSTM, "preprocessor": "cnn_to_rnn"},
        SERIES_OUT,
    ),
    "several at once": (
        SERIES,
        {
            **LSTM,
            "preprocessor": {
                "type": "composable",
                "preprocessors": ["rnn_to_feed_forward", "feed_forward_to_rnn"],
            },
        },
        SERIES_OUT,
    ),
}


def layer_network(name):
    input_type, *layers = LAYERS[name]
    return sequence(
        input_type, *layers, dtype="float64" if name == "double" else "float32"
    )

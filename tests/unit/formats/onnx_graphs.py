"""Networks that ONNX covers: each vertex, and whole ones."""

from daskdl.nn.conf.input_type import (
    Convolutional,
    ConvolutionalFlat,
    FeedForward,
    Recurrent,
)
from tests.unit.formats.onnx_cases import (
    IMAGES,
    LSTM,
    OUT,
    POOL,
    ROWS,
    SERIES,
    SERIES_OUT,
    STEPS,
    graph,
    sequence,
)

FEATURES = {"type": "dense", "n_out": 4, "activation": "tanh"}
TWO = {"a": FeedForward(size=4), "b": FeedForward(size=4)}
TWO_SERIES = {"a": Recurrent(size=4), "b": Recurrent(size=4)}
TWO_IMAGES = {
    "a": Convolutional(height=4, width=5, channels=2),
    "b": Convolutional(height=4, width=5, channels=3),
}
END = {**OUT, "inputs": "v"}
SERIES_END = {**SERIES_OUT, "inputs": "v"}
# Inputs, the vertex `v`, and the output behind it.
VERTICES = {
    "merge": (TWO, {"type": "merge", "inputs": ["a", "b"]}, END),
    "merge of images": (TWO_IMAGES, {"type": "merge", "inputs": ["a", "b"]}, END),
    "merge of series in time": (
        TWO_SERIES,
        {"type": "merge", "merge_axis": 2, "inputs": ["a", "b"]},
        SERIES_END,
    ),
    **{
        op: (TWO, {"type": "element_wise", "op": op, "inputs": ["a", "b"]}, END)
        for op in ("add", "subtract", "product", "average", "max")
    },
    "product of three": (
        {**TWO, "c": FeedForward(size=4)},
        {"type": "element_wise", "op": "product", "inputs": ["a", "b", "c"]},
        END,
    ),
    "scale": (
        {"a": ROWS},
        {"type": "scale", "scale_factor": 2.5, "inputs": "a"},
        END,
    ),
    "shift": (
        {"a": ROWS},
        {"type": "shift", "shift_factor": -1.5, "inputs": "a"},
        END,
    ),
    "subset": (
        {"a": IMAGES},
        {"type": "subset", "from": 1, "to": 2, "inputs": "a"},
        END,
    ),
    "norm": ({"a": IMAGES}, {"type": "l2_normalize", "inputs": "a"}, END),
    "norm of pixels": (
        {"a": IMAGES},
        {"type": "l2_normalize", "dimensions": [1], "inputs": "a"},
        END,
    ),
    "distance": (TWO_SERIES, {"type": "l2", "inputs": ["a", "b"]}, END),
    "last step": ({"a": SERIES}, {"type": "last_time_step", "inputs": "a"}, END),
    "reversed": (
        {"a": SERIES},
        {"type": "reverse_time_series", "inputs": "a"},
        SERIES_END,
    ),
    "repeated": (
        {"a": FeedForward(size=4), "b": SERIES},
        {"type": "duplicate_to_time_series", "input_name": "b", "inputs": "a"},
        {**SERIES_OUT, "inputs": "m"},
    ),
    "frozen": (
        {"a": ROWS},
        {
            "type": "frozen_vertex",
            "vertex": {"type": "scale", "scale_factor": 3},
            "inputs": "a",
        },
        END,
    ),
    "pool helper": ({"a": IMAGES}, {"type": "pool_helper", "inputs": "a"}, END),
    "preprocessor": (
        {"a": IMAGES},
        {"type": "preprocessor", "preprocessor": "cnn_to_feed_forward", "inputs": "a"},
        END,
    ),
}


def vertex_network(name):
    inputs, vertex, output = VERTICES[name]
    vertices = {"v": vertex, "out": output}
    if output["inputs"] == "m":
        vertices["m"] = {"type": "merge", "inputs": ["v", "b"]}
    return graph(inputs, vertices, "out")


def siamese():
    """Return two inputs through the same layer, which stack and unstack are for."""
    vertices = {
        "s": {"type": "stack", "inputs": ["a", "b"]},
        "d": {**FEATURES, "inputs": "s"},
        "first": {"type": "unstack", "from": 0, "stack_size": 2, "inputs": "d"},
        "second": {"type": "unstack", "from": 1, "stack_size": 2, "inputs": "d"},
        "v": {"type": "l2", "inputs": ["first", "second"]},
        "out": END,
    }
    return graph(TWO, vertices, "out")


def encoder_decoder():
    """Return two series of different lengths, and a row that is repeated."""
    vertices = {
        "e": {**LSTM, "inputs": "a"},
        "last": {"type": "last_time_step", "inputs": "e"},
        "dup": {
            "type": "duplicate_to_time_series",
            "input_name": "b",
            "inputs": "last",
        },
        "m": {"type": "merge", "inputs": ["b", "dup"]},
        "v": {**LSTM, "inputs": "m"},
        "out": SERIES_END,
    }
    return graph({"a": SERIES, "b": SERIES}, vertices, "out")


def two_outputs():
    vertices = {
        "d": {**FEATURES, "inputs": "a"},
        "x": {**OUT, "inputs": "d"},
        "y": {**SERIES_OUT, "inputs": "b"},
    }
    return graph({"a": ROWS, "b": STEPS}, vertices, "y", "x")


def lenet():
    return sequence(
        ConvolutionalFlat(height=28, width=28, channels=1),
        {"type": "convolution2d", "n_out": 20, "kernel_size": 5},
        {"type": "subsampling"},
        {"type": "convolution2d", "n_out": 50, "kernel_size": 5},
        {"type": "subsampling"},
        {"type": "dense", "n_out": 500, "activation": "relu"},
        {"type": "output", "n_out": 10},
    )


def residual_block(vertices, name, source, n_out, stride):
    """Add two convolutions and what goes around them; return the name of the end."""
    conv = {"type": "convolution2d", "convolution_mode": "same", "n_out": n_out}
    norm = {"type": "batch_normalization"}
    relu = {"type": "activation", "activation": "relu"}
    shortcut = source
    for step, (reads, step_stride) in enumerate([(source, stride), (f"{name}_r0", 1)]):
        vertices[f"{name}_c{step}"] = {
            **conv,
            "kernel_size": 3,
            "stride": step_stride,
            "inputs": reads,
        }
        vertices[f"{name}_n{step}"] = {**norm, "inputs": f"{name}_c{step}"}
        if step == 0:
            vertices[f"{name}_r0"] = {**relu, "inputs": f"{name}_n0"}
    if stride > 1:
        vertices[f"{name}_s"] = {
            **conv,
            "kernel_size": 1,
            "stride": stride,
            "inputs": source,
        }
        shortcut = f"{name}_s"
    vertices[f"{name}_sum"] = {
        "type": "element_wise",
        "op": "add",
        "inputs": [f"{name}_n1", shortcut],
    }
    vertices[name] = {**relu, "inputs": f"{name}_sum"}
    return name


def small_resnet():
    """Return blocks of 16, 32 and 64 channels on images of 32 x 32."""
    vertices = {
        "stem": {
            "type": "convolution2d",
            "convolution_mode": "same",
            "kernel_size": 3,
            "n_out": 16,
            "inputs": "image",
        },
        "stem_n": {"type": "batch_normalization", "inputs": "stem"},
        "stem_r": {"type": "activation", "activation": "relu", "inputs": "stem_n"},
    }
    end = "stem_r"
    for n_out in (16, 32, 64):
        end = residual_block(vertices, f"b{n_out}", end, n_out, 1 if n_out == 16 else 2)
    vertices["pool"] = {**POOL, "inputs": end}
    vertices["out"] = {"type": "output", "n_out": 10, "inputs": "pool"}
    images = Convolutional(height=32, width=32, channels=3)
    return graph({"image": images}, vertices, "out")


def lstm_classifier():
    return sequence(
        Recurrent(size=6),
        {"type": "lstm", "n_out": 32},
        {"type": "lstm", "n_out": 16},
        {"type": "global_pooling", "pooling_type": "avg"},
        {"type": "output", "n_out": 4},
    )


def mlp():
    return sequence(
        FeedForward(size=20),
        {"type": "dense", "n_out": 64, "activation": "relu"},
        {"type": "dense", "n_out": 32, "activation": "tanh"},
        {"type": "output", "n_out": 10},
    )

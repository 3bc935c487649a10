"""A network for every kind of vertex that is no layer."""

import daskdl as dl
from daskdl.nn.conf.input_type import FeedForward, Recurrent
from tests.dl4j.networks import (
    IMAGES,
    LONG_SERIES,
    ROWS,
    SERIES,
    Trial,
    conv,
    dense,
    global_pool,
    graph,
    lstm,
    out,
    rnn_out,
    simple,
)

TWO = {"a": ROWS, "b": FeedForward(size=3)}
ALIKE = {"a": ROWS, "b": ROWS}
TWO_SERIES = {"a": SERIES, "b": Recurrent(size=2)}


def between(n_out, vertex):
    """A trial with a vertex between two layers."""
    vertices = {
        "hidden": dense(n_out=n_out, inputs="in"),
        "vertex": vertex.replaced(inputs="hidden"),
        "out": out(inputs="vertex"),
    }
    return Trial(graph(ROWS, vertices))


def joined(vertex, n_inputs, inputs=None):
    """A trial with a vertex that joins layers."""
    names = [f"hidden{i}" for i in range(n_inputs)]
    vertices = {
        **{name: dense(n_out=4, inputs="ab"[i % 2]) for i, name in enumerate(names)},
        "vertex": vertex.replaced(inputs=names),
        "out": out(inputs="vertex"),
    }
    return Trial(graph(inputs or TWO, vertices))


def attention(**options):
    return {
        "queries": lstm(inputs="a"),
        "keys": lstm(inputs="b"),
        "attention": dl.AttentionVertex(inputs=("queries", "keys", "keys"), **options),
        "pool": global_pool(inputs="attention"),
        "out": out(inputs="pool"),
    }


GRAPHS = {
    "merge": joined(dl.MergeVertex(), 2),
    "merge of inputs": Trial(
        graph(TWO, {"m": dl.MergeVertex(inputs=("a", "b")), "out": out(inputs="m")})
    ),
    "implicit merge": Trial(graph(TWO, {"out": out(inputs=("a", "b"))})),
    **{
        f"merge of images, {data_format}": Trial(
            graph(
                IMAGES.replaced(data_format=data_format),
                {
                    "c1": conv(2, inputs="in"),
                    "c2": conv(3, inputs="in"),
                    "m": dl.MergeVertex(inputs=("c1", "c2")),
                    "pool": dl.Subsampling(inputs="m"),
                    "out": out(inputs="pool"),
                },
            )
        )
        for data_format in ("NCHW", "NHWC")
    },
    **{
        f"element-wise, {op}": joined(
            dl.ElementWiseVertex(op=op), 2 if op == "subtract" else 3
        )
        for op in ("add", "subtract", "product", "average", "max")
    },
    "subset": between(6, dl.SubsetVertex(from_=1, to=3)),
    "scale": between(5, dl.ScaleVertex(scale_factor=2.5)),
    "shift": between(5, dl.ShiftVertex(shift_factor=-0.75)),
    "l2 normalize": between(5, dl.L2NormalizeVertex()),
    "l2": joined(dl.L2Vertex(), 2),
    "stack, unstack": Trial(
        graph(
            ALIKE,
            {
                "stacked": dl.StackVertex(inputs=("a", "b")),
                "shared": dense(n_out=4, inputs="stacked"),
                "first": dl.UnstackVertex(from_=0, stack_size=2, inputs="shared"),
                "second": dl.UnstackVertex(from_=1, stack_size=2, inputs="shared"),
                "m": dl.MergeVertex(inputs=("first", "second")),
                "out": out(inputs="m"),
            },
        )
    ),
    "reshape": Trial(
        graph(
            ROWS,
            {
                "hidden": dense(n_out=12, inputs="in"),
                "images": dl.ReshapeVertex(new_shape=(-1, 2, 2, 3), inputs="hidden"),
                "c": conv(3, inputs="images"),
                "pool": global_pool(inputs="c"),
                "out": out(inputs="pool"),
            },
        )
    ),
    "pool helper": Trial(
        graph(
            IMAGES.replaced(height=6, width=6),
            {
                "c": conv(3, inputs="in"),
                "helper": dl.PoolHelperVertex(inputs="c"),
                "pool": global_pool(inputs="helper"),
                "out": out(inputs="pool"),
            },
        )
    ),
    "preprocessor": Trial(
        graph(
            IMAGES,
            {
                "c": conv(3, inputs="in"),
                "flat": dl.PreprocessorVertex(
                    preprocessor={
                        "type": "cnn_to_feed_forward",
                        "height": 5,
                        "width": 6,
                        "channels": 3,
                    },
                    inputs="c",
                ),
                "out": out(inputs="flat"),
            },
        )
    ),
    "frozen vertex": Trial(
        between(5, dl.FrozenVertex(vertex=dl.ScaleVertex(scale_factor=2.0))).conf,
        fails_in_training="Cannot do backward pass: all epsilons not set",
    ),
    "last time step vertex": Trial(
        graph(
            SERIES,
            {
                "l": lstm(inputs="in"),
                "last": dl.LastTimeStepVertex(mask_input="in", inputs="l"),
                "out": out(inputs="last"),
            },
        ),
        has_features_masks=True,
    ),
    "duplicate to time series": Trial(
        graph(
            {"series": SERIES, "rows": ROWS},
            {
                "l": simple(inputs="series"),
                "dup": dl.DuplicateToTimeSeriesVertex(
                    input_name="series", inputs="rows"
                ),
                "m": dl.MergeVertex(inputs=("l", "dup")),
                "out": rnn_out(inputs="m"),
            },
        ),
        has_features_masks=True,
        has_labels_masks=True,
    ),
    **{
        f"reverse time series, {name}": Trial(
            graph(
                SERIES,
                {
                    "r": dl.ReverseTimeSeriesVertex(mask_input=mask, inputs="in"),
                    "l": simple(inputs="r"),
                    "out": rnn_out(inputs="l"),
                },
            ),
            has_features_masks=mask is not None,
            has_labels_masks=mask is not None,
        )
        for name, mask in {"whole": None, "masked": "in"}.items()
    },
    "attention": Trial(
        graph(
            TWO_SERIES,
            attention(n_out=6, n_heads=2, head_size=3, project_input=True),
        ),
        has_features_masks=True,
    ),
    "attention without projections": Trial(graph(TWO_SERIES, attention(n_out=4))),
    "two outputs": Trial(
        graph(
            ROWS,
            {
                "hidden": dense(n_out=5, inputs="in"),
                "classes": out(inputs="hidden"),
                "numbers": dl.Output(n_out=2, loss="mse", inputs="hidden"),
            },
            outputs=("classes", "numbers"),
        )
    ),
    "defined in another order": Trial(
        graph(
            TWO,
            {
                "out": out(inputs="m2"),
                "z3": dense(n_out=3, inputs="m1"),
                "m2": dl.MergeVertex(inputs=("z3", "b1")),
                "b1": dense(n_out=4, inputs="a"),
                "m1": dl.MergeVertex(inputs=("b1", "c1")),
                "c1": dense(n_out=2, inputs="b"),
            },
        )
    ),
    "residual": Trial(
        graph(
            IMAGES,
            {
                "c1": conv(4, 3, convolution_mode="same", inputs="in"),
                "bn": dl.BatchNormalization(inputs="c1"),
                "r": dl.Activation(activation="relu", inputs="bn"),
                "c2": conv(4, 3, convolution_mode="same", inputs="r"),
                "add": dl.ElementWiseVertex(op="add", inputs=("c1", "c2")),
                "pool": global_pool(inputs="add"),
                "out": out(inputs="pool"),
            },
        )
    ),
    "convolution of series": Trial(
        graph(
            LONG_SERIES,
            {
                "c": dl.Convolution1D(n_out=4, kernel_size=2, inputs="in"),
                "l": simple(inputs="c"),
                "out": rnn_out(inputs="l"),
            },
        )
    ),
}

"""One table of vertices, and what it takes to run one alone."""

import numpy as np

import daskdl as conf
from daskdl.arrays.flat import ParamLayout
from daskdl.arrays.workspace import Workspace
from daskdl.dialects import EXACT, quirks_of
from daskdl.nn.conf.defaults import NetworkConf
from daskdl.nn.conf.input_type import Convolutional, FeedForward, Recurrent
from daskdl.nn.conf.values import with_quirks
from daskdl.nn.vertices.vertex import Vertex

ROWS = FeedForward(size=4)
SERIES = Recurrent(size=3, time_steps=5)
IMAGES = Convolutional(height=3, width=2, channels=2)
LAST = IMAGES.replaced(data_format="NHWC")
MASK = np.array([[1, 1, 1, 0, 0], [1, 0, 1, 1, 0.0]])


def attention(**options):
    return conf.AttentionVertex(**{"n_out": 2, **options})


# configuration, types of the inputs
VERTICES = {
    "merge": (conf.MergeVertex(), [ROWS, FeedForward(size=2), ROWS]),
    "merge of one": (conf.MergeVertex(), [ROWS]),
    "merge of series": (conf.MergeVertex(), [SERIES, SERIES]),
    "merge of images": (
        conf.MergeVertex(),
        [IMAGES, Convolutional(height=3, width=2, channels=1)],
    ),
    "merge in time": (
        conf.MergeVertex(merge_axis=2),
        [SERIES, SERIES.replaced(time_steps=2)],
    ),
    "merge of rows of pixels": (
        conf.MergeVertex(merge_axis=1),
        [LAST, LAST.replaced(height=1)],
    ),
    "add": (conf.ElementWiseVertex(op="add"), [ROWS, ROWS, ROWS]),
    "subtract": (conf.ElementWiseVertex(op="subtract"), [SERIES, SERIES]),
    "product": (conf.ElementWiseVertex(op="product"), [ROWS, ROWS, ROWS]),
    "average": (conf.ElementWiseVertex(op="average"), [IMAGES, IMAGES]),
    "max": (conf.ElementWiseVertex(op="max"), [ROWS, ROWS, ROWS]),
    "add, repeated": (
        conf.ElementWiseVertex(op="add"),
        [IMAGES, IMAGES.replaced(height=1, width=1)],
    ),
    "product, repeated": (
        conf.ElementWiseVertex(op="product"),
        [FeedForward(size=1), ROWS, ROWS],
    ),
    "max, repeated": (
        conf.ElementWiseVertex(op="max"),
        [SERIES.replaced(time_steps=1), SERIES],
    ),
    "subtract, repeated": (
        conf.ElementWiseVertex(op="subtract"),
        [SERIES.replaced(size=1), SERIES.replaced(time_steps=1)],
    ),
    "subset": (conf.SubsetVertex(from_=1, to=2), [ROWS]),
    "subset of series": (conf.SubsetVertex(from_=0, to=0), [SERIES]),
    "subset of images": (conf.SubsetVertex(from_=1, to=1), [IMAGES]),
    "scale": (conf.ScaleVertex(scale_factor=-2.5), [ROWS]),
    "shift": (conf.ShiftVertex(shift_factor=1.5), [IMAGES]),
    "l2 normalize": (conf.L2NormalizeVertex(), [ROWS]),
    "l2 normalize of series": (conf.L2NormalizeVertex(), [SERIES]),
    "l2 normalize of channels": (conf.L2NormalizeVertex(dimensions=1), [IMAGES]),
    "l2 normalize of pixels": (conf.L2NormalizeVertex(dimensions=[1, 2]), [LAST]),
    "l2": (conf.L2Vertex(), [ROWS, ROWS]),
    "l2 of series": (conf.L2Vertex(), [SERIES, SERIES]),
    "l2 of images": (conf.L2Vertex(), [IMAGES, IMAGES]),
    "stack": (conf.StackVertex(), [ROWS, ROWS, ROWS]),
    "stack of series": (
        conf.StackVertex(),
        [SERIES.replaced(time_steps=2), SERIES, SERIES.replaced(time_steps=4)],
    ),
    "unstack": (conf.UnstackVertex(from_=1, stack_size=2), [ROWS]),
    "unstack of images": (conf.UnstackVertex(from_=0, stack_size=2), [IMAGES]),
    "reshape to images": (
        conf.ReshapeVertex(new_shape=[-1, 2, 3, 1]),
        [FeedForward(size=6)],
    ),
    "reshape to rows": (conf.ReshapeVertex(new_shape=[-1, 12]), [IMAGES]),
    "reshape of channels last": (conf.ReshapeVertex(new_shape=[-1, 6, 2]), [LAST]),
    "reshape, first index fastest": (
        conf.ReshapeVertex(new_shape=[-1, 5, 3], order="f"),
        [SERIES],
    ),
    "reshape to volumes": (
        conf.ReshapeVertex(new_shape=[-1, 2, 1, 3, 2]),
        [IMAGES],
    ),
    "pool helper": (conf.PoolHelperVertex(), [IMAGES.replaced(height=4)]),
    "frozen": (conf.FrozenVertex(vertex=conf.ScaleVertex(scale_factor=3)), [ROWS]),
    "frozen attention": (
        conf.FrozenVertex(vertex=attention(project_input=True)),
        [SERIES, SERIES, SERIES],
    ),
    "attention": (
        attention(project_input=True, n_heads=2, head_size=4),
        [SERIES, SERIES.replaced(size=2), SERIES.replaced(size=4)],
    ),
    "attention, not projected": (
        attention(n_out=3),
        [SERIES.replaced(time_steps=2), SERIES, SERIES],
    ),
    "last time step": (conf.LastTimeStepVertex(), [SERIES]),
    "last time step, masked": (conf.LastTimeStepVertex(mask_input="in"), [SERIES]),
    "duplicate": (conf.DuplicateToTimeSeriesVertex(input_name="in"), [ROWS]),
    "reverse": (conf.ReverseTimeSeriesVertex(), [SERIES]),
    "reverse, masked": (conf.ReverseTimeSeriesVertex(mask_input="in"), [SERIES]),
    "preprocessor": (
        conf.PreprocessorVertex(preprocessor="rnn_to_feed_forward"),
        [SERIES.replaced(time_steps=1)],
    ),
}


class Alone:
    """A vertex with parameters, gradients and a workspace of its own.

    Parameters
    ----------
    name : str
        Of the row.
    namespace : module
        What the workspace allocates with.
    put : callable
        Takes the arrays of the vertex to where it works.
    dialect : str
        How it computes.
    """

    def __init__(
        self,
        name,
        *,
        dtype="f8",
        namespace=np,
        put=lambda array: array,
        dialect=EXACT,
    ):
        given, self.input_types = VERTICES[name]
        defaults = NetworkConf(dialect=dialect).defaults()
        given = with_quirks(given, quirks_of(dialect))
        filled = given.filled(defaults, self.input_types, "me")
        self.workspace = Workspace(namespace)
        self.vertex = Vertex(filled, self.input_types, "me", self.workspace)
        parameters = filled.parameters(self.input_types)
        self.layout = ParamLayout.of({item.name: item.shape for item in parameters})
        self.params = put(np.zeros(self.layout.size, dtype))
        self.gradients = put(np.full(self.layout.size, np.nan, dtype))
        self.vertex.bind(
            self.layout.views(self.params), self.layout.views(self.gradients)
        )
        self.vertex.initialize(np.random.default_rng(3))

    def inputs(self, rng, batch=2, dtype="f8"):
        return [
            rng.standard_normal((batch, *kind.shape)).astype(dtype)
            for kind in self.input_types
        ]

    def forward(self, inputs, masks=None):
        batch = len(inputs[0])
        return self.vertex.forward(
            inputs,
            masks=masks or [None] * len(inputs),
            network_input=np.zeros((batch, 5, 2), inputs[0].dtype),
            network_mask=np.resize(MASK, (batch, 5)),
        )

"""One table of layers, and what it takes to run one alone."""

import numpy as np

import daskdl as conf
from daskdl.arrays.flat import ParamLayout
from daskdl.arrays.workspace import Workspace
from daskdl.dialects import EXACT, quirks_of
from daskdl.nn.conf.defaults import NetworkConf
from daskdl.nn.conf.values import with_quirks
from daskdl.nn.layers.layer import Layer
from tests.unit.layers.case import IMAGES, ROWS, SERIES, Case
from tests.unit.layers.cases_attention import ATTENTION_CASES
from tests.unit.layers.cases_convolution import CONVOLUTION_CASES
from tests.unit.layers.cases_feed_forward import FEED_FORWARD_CASES
from tests.unit.layers.cases_images import IMAGE_CASES
from tests.unit.layers.cases_recurrent import RECURRENT_CASES


def conv(**options):
    return conf.Convolution2D(n_out=3, **{"kernel_size": (3, 2), **options})


def pool(**options):
    return conf.Subsampling(**options)


CASES = {
    "dense": Case(conf.Dense(n_out=4), ROWS),
    "dense, no bias": Case(conf.Dense(n_out=4, has_bias=False), ROWS),
    "dense, gelu": Case(conf.Dense(n_out=4, activation="gelu"), ROWS),
    "dense, softmax": Case(conf.Dense(n_out=4, activation="softmax"), ROWS),
    "dense, identity": Case(conf.Dense(n_out=4, activation="identity"), ROWS),
    "dense, dropout": Case(conf.Dense(n_out=4, keep_probability=0.6), ROWS),
    "dense on images": Case(conf.Dense(n_out=4), IMAGES),
    "dense on images, dropout": Case(conf.Dense(n_out=4, keep_probability=0.7), IMAGES),
    "dense on series": Case(conf.Dense(n_out=4), SERIES),
    "dense on series, masked": Case(conf.Dense(n_out=4), SERIES, is_masked=True),
    "dense on series, masked, swish": Case(
        conf.Dense(n_out=4, activation="swish"), SERIES, is_masked=True
    ),
    "convolution": Case(conv(), IMAGES),
    "convolution, no bias": Case(conv(has_bias=False), IMAGES),
    "convolution, mish": Case(conv(activation="mish"), IMAGES),
    "convolution, stride": Case(conv(stride=(2, 3)), IMAGES),
    "convolution, padding": Case(conv(padding=(1, 2), stride=(2, 1)), IMAGES),
    "convolution, dilation": Case(conv(dilation=(2, 2)), IMAGES),
    "convolution, same": Case(conv(convolution_mode="same"), IMAGES),
    "convolution, same, stride": Case(
        conv(convolution_mode="same", stride=(2, 2), dilation=(1, 2)), IMAGES
    ),
    "convolution, strict": Case(conv(convolution_mode="strict"), IMAGES),
    "convolution, dropout": Case(conv(keep_probability=0.6), IMAGES),
    "subsampling": Case(pool(), IMAGES),
    "subsampling, overlap": Case(pool(kernel_size=3, stride=1), IMAGES),
    "subsampling, padding": Case(pool(kernel_size=3, padding=1), IMAGES),
    "subsampling, dilation": Case(pool(dilation=2, stride=1), IMAGES),
    "subsampling, same": Case(pool(kernel_size=3, convolution_mode="same"), IMAGES),
    "subsampling, avg": Case(pool(pooling_type="avg"), IMAGES),
    "subsampling, avg, padding": Case(
        pool(pooling_type="avg", kernel_size=3, padding=1), IMAGES
    ),
    "subsampling, avg, counted padding": Case(
        pool(pooling_type="avg", kernel_size=3, padding=1, include_padding=True), IMAGES
    ),
    "batch normalization": Case(conf.BatchNormalization(), ROWS, mixes_examples=True),
    "batch normalization of images": Case(
        conf.BatchNormalization(gamma=1.5, beta=0.3), IMAGES, mixes_examples=True
    ),
    "batch normalization, locked": Case(
        conf.BatchNormalization(lock_gamma_beta=True, gamma=2.0, beta=0.5),
        ROWS,
        mixes_examples=True,
    ),
    "batch normalization, locked scale": Case(
        conf.BatchNormalization(lock_gamma_beta=True, gamma=2.0),
        ROWS,
        mixes_examples=True,
    ),
    "dropout": Case(conf.Dropout(keep_probability=0.5), ROWS),
    "dropout of images": Case(conf.Dropout(keep_probability=0.5), IMAGES),
    "dropout of nothing": Case(conf.Dropout(keep_probability=1.0), SERIES),
    "activation": Case(conf.Activation(activation="elu"), IMAGES),
    "activation, softmax": Case(conf.Activation(activation="softmax"), SERIES),
    "activation, identity": Case(conf.Activation(activation="identity"), ROWS),
    "activation, elu with an alpha": Case(
        conf.Activation(activation={"type": "elu", "alpha": 0.4}), ROWS
    ),
    "activation, precise gelu": Case(
        conf.Activation(activation={"type": "gelu", "precise": True}), ROWS
    ),
    "activation, rrelu": Case(conf.Activation(activation="rrelu"), ROWS),
    "global pooling": Case(conf.GlobalPooling(), SERIES),
    "global pooling, masked": Case(conf.GlobalPooling(), SERIES, is_masked=True),
    "global pooling, avg, masked": Case(
        conf.GlobalPooling(pooling_type="avg"), SERIES, is_masked=True
    ),
    "global pooling, sum, masked": Case(
        conf.GlobalPooling(pooling_type="sum"), SERIES, is_masked=True
    ),
    "global pooling, pnorm, masked": Case(
        conf.GlobalPooling(pooling_type="pnorm", pnorm=3), SERIES, is_masked=True
    ),
    "global pooling of images": Case(conf.GlobalPooling(), IMAGES),
    "global pooling of images, avg": Case(
        conf.GlobalPooling(pooling_type="avg"), IMAGES
    ),
    "output": Case(conf.Output(n_out=3), ROWS),
    "output on images": Case(conf.Output(n_out=3, loss="mse"), IMAGES),
    "output, dropout": Case(
        conf.Output(n_out=3, loss="xent", keep_probability=0.7), ROWS
    ),
    **ATTENTION_CASES,
    **CONVOLUTION_CASES,
    **FEED_FORWARD_CASES,
    **IMAGE_CASES,
    **RECURRENT_CASES,
}
OUTPUTS = [
    name
    for name, case in CASES.items()
    if case.conf.is_output and not case.has_own_labels
]


# The mask that the row of the table says: of some steps, or none.
OWN = object()


class Alone:
    """A layer with parameters, gradients and a workspace of its own."""

    def __init__(self, name, *, dtype="f8", workspace=None, dialect=EXACT):
        self.case = CASES[name]
        defaults = NetworkConf(activation="tanh", dialect=dialect).defaults()
        conf = with_quirks(self.case.conf, quirks_of(dialect))
        resolved = conf.filled(defaults, self.case.input_type, "me")
        self.workspace = workspace or Workspace()
        self.layer = Layer(resolved, self.case.input_type, "me", self.workspace)
        self.layout = ParamLayout.of(resolved.parameter_shapes(self.case.input_type))
        self.params = np.zeros(self.layout.size, dtype)
        self.gradients = np.full(self.layout.size, np.nan, dtype)
        self.layer.bind(
            self.layout.views(self.params), self.layout.views(self.gradients)
        )
        self.layer.initialize(np.random.default_rng(3))
        self.dtype = dtype

    def x(self, rng, batch=3):
        shape = [
            self.case.steps if n is None else n for n in self.layer.input_type.shape
        ]
        if self.case.n_numbers is not None:
            numbers = rng.integers(0, self.case.n_numbers, (batch, *shape))
            return numbers.astype(self.dtype)
        return rng.standard_normal((batch, *shape)).astype(self.dtype)

    @property
    def answers_for_x(self):
        """Whether the gradient in the input is that of a smooth function."""
        return self.case.n_numbers is None and self.case.passes_gradient

    def out_shape(self, batch=3):
        shape = [
            self.case.steps if n is None else n for n in self.layer.output_type.shape
        ]
        return (batch * self.case.n_parts, *shape)

    def by_example(self, output, batch):
        """Return an output with all parts of the first example first."""
        parts = output.reshape(self.case.n_parts, batch, *output.shape[1:])
        return parts.swapaxes(0, 1)

    def mask(self, batch=3):
        if not self.case.is_masked:
            return None
        lengths = np.arange(batch) % self.case.steps + 1
        return (np.arange(self.case.steps) < lengths[:, None]).astype(self.dtype)

    def forward(self, x, *, training=True, mask=OWN):
        """Run forward; dropout draws the same numbers every time."""
        output = self.layer.forward(
            x,
            training=training,
            mask=self.mask(len(x)) if mask is OWN else mask,
            rng=np.random.default_rng(11),
            batch_size=len(x),
        )
        self.mask_behind = self.layer.mask
        return output

    def backward(self, grad_out):
        return self.layer.backward(grad_out)

    def backward_loss(self, labels, mask=None):
        return self.layer.backward_loss(labels, mask)

    def trained(self):
        """Return the parameters that have gradients, as a boolean vector."""
        parameters = self.layer.conf.parameters(self.layer.input_type)
        is_frozen = isinstance(self.layer.conf, conf.FrozenWithBackprop)
        learn = {
            item.name: not is_frozen and item.role not in ("running", "frozen")
            for item in parameters
        }
        flags = np.ones(self.layout.size, bool)
        for name, view in self.layout.views(flags).items():
            view[...] = learn[name]
        return flags


def labels_of(rng, alone, batch=3):
    """Return probabilities as labels of an output layer."""
    labels = rng.random(alone.out_shape(batch))
    return labels / labels.sum(axis=-1, keepdims=True)


def tried(call, refusal):
    """Return what a call gives, or the message of its refusal as text."""
    try:
        return call()
    except refusal as error:
        return str(error)

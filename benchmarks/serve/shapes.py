"""The networks that are compared: shapes of their minibatches, and the work in a step.

All peers read this, each in its own process: standard library only.
"""

from collections.abc import Iterator
from dataclasses import dataclass

NCHW = "nchw"
CHANNELS_LAST = "channels_last"
FIT = "fit"
OUTPUT = "output"
THRESHOLD = "threshold"
ENCODE = "encode"
DECODE = "decode"
CODER = "coder"
PACK = "pack"
UNPACK = "unpack"
READING = "reading"
VECTORS = "vectors"
ARRAYS = "arrays"
CSV = "csv"
MINIBATCHES = "minibatches"
READ = (VECTORS, ARRAYS, CSV, MINIBATCHES)
START = "start"
MEMORY = "memory"
SCALING = "scaling"
ONE = "one"
TWO = "two"
CONTROL = "control"
DATA = "data"
EPOCH = "epoch"
SCAN = "scan"
JOB = "job"
RUN = "run"
PREDICT = "predict"
# How many rows, by the examples of an epoch.
PREDICTED = (1, 10)
DL4J_SPARK = "dl4j-spark"
# The networks that are trained on clusters.
SCALED = ("lenet", "mlp")

# Elements of the vectors that messages are made of, and the threshold that a
# thousandth of them reach: the quantile of |x| for a normal x.
LENGTHS = {"1M": 1_000_000, "10M": 10_000_000}
TAU = 3.2905267

# Blocks, channels inside of them, stride of the first: He et al. 2015, table 1.
RESNET50_STAGES = ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2))
N_WORDS, WORD_SIZE = 100_000, 256
N_HEADS = 4


@dataclass(frozen=True)
class Product:
    """A matrix product in the forward pass; a convolution is one over its windows."""

    rows: int
    inner: int
    columns: int
    is_first: bool = False

    def flops(self, what: str) -> int:
        """Return additions and multiplications of a forward pass or of a step.

        A step computes the gradients of both factors too; that of the network's input
        nobody needs.
        """
        forward = 2 * self.rows * self.inner * self.columns
        if what == OUTPUT:
            return forward
        return forward * (2 if self.is_first else 3)


@dataclass(frozen=True)
class Net:
    """The minibatch of a network, in DL4J's axis order, and the work it makes.

    Parameters
    ----------
    features : tuple of int
        Their shape.
    n_classes : int
        Of the labels.
    products : tuple of Product
        Of a forward pass.
    n_numbers : int
        Features are whole numbers below it; 0: they are drawn around 0.
    is_each_step_labelled : bool
        Whether each step of a series has a class, or each example.
    n_table : int
        Elements of a table of which a step reads a few rows and updates all: what it
        costs is memory, and the products are nothing beside it.
    """

    features: tuple[int, ...]
    n_classes: int
    products: tuple[Product, ...]
    n_numbers: int = 0
    is_each_step_labelled: bool = False
    n_table: int = 0

    @property
    def label_axes(self) -> tuple[int, ...]:
        """The axes of the class numbers: the batch, and perhaps the time."""
        batch = self.features[:1]
        return batch + self.features[2:] if self.is_each_step_labelled else batch

    def flops(self, what: str) -> int:
        """Return additions and multiplications in a step (fit) or a forward pass."""
        return sum(product.flops(what) for product in self.products)


def _resnet_products() -> Iterator[Product]:
    batch, side = 64, 32
    yield Product(batch * side**2, 9 * 3, 16, is_first=True)
    n_in = 16
    for n_out, stride in ((16, 1), (32, 2), (64, 2)):
        side //= stride
        pixels = batch * side**2
        yield Product(pixels, 9 * n_in, n_out)
        yield Product(pixels, 9 * n_out, n_out)
        if stride > 1:
            yield Product(pixels, n_in, n_out)
        n_in = n_out
    yield Product(batch, 64, 10)


def _resnet50_products() -> Iterator[Product]:
    batch, side, n_in = 8, 112, 64
    yield Product(batch * side**2, 49 * 3, n_in, is_first=True)
    side //= 2
    for n_blocks, width, stride in RESNET50_STAGES:
        for block in range(n_blocks):
            if block == 0:
                # The first version strides in front of the block, not inside of it.
                side //= stride
                yield Product(batch * side**2, n_in, 4 * width)
            pixels = batch * side**2
            yield Product(pixels, n_in, width)
            yield Product(pixels, 9 * width, width)
            yield Product(pixels, width, 4 * width)
            n_in = 4 * width
    yield Product(batch, n_in, 1000)


NETS = {
    "lenet": Net(
        (64, 1, 28, 28),
        10,
        (
            Product(64 * 24 * 24, 25, 20, is_first=True),
            Product(64 * 8 * 8, 25 * 20, 50),
            Product(64, 800, 500),
            Product(64, 500, 10),
        ),
    ),
    "mlp": Net(
        (128, 784),
        10,
        (
            Product(128, 784, 1000, is_first=True),
            Product(128, 1000, 1000),
            Product(128, 1000, 10),
        ),
    ),
    "lstm": Net(
        (32, 77, 50),
        77,
        (
            Product(1600, 77, 800, is_first=True),
            Product(1600, 200, 800),
            Product(1600, 200, 800),
            Product(1600, 200, 800),
            Product(1600, 200, 77),
        ),
        is_each_step_labelled=True,
    ),
    "resnet": Net((64, 3, 32, 32), 10, tuple(_resnet_products())),
    "resnet50": Net((8, 3, 224, 224), 1000, tuple(_resnet50_products())),
    "lstm3": Net(
        (32, 77, 200),
        77,
        (
            Product(6400, 77, 2048, is_first=True),
            *[Product(6400, 512, 2048)] * 5,
            Product(6400, 512, 77),
        ),
        is_each_step_labelled=True,
    ),
    "embedding": Net(
        (64, 50),
        10,
        (Product(64, WORD_SIZE, 10),),
        n_numbers=N_WORDS,
        n_table=N_WORDS * WORD_SIZE,
    ),
    "tabular": Net(
        (256, 50),
        2,
        (
            Product(256, 50, 512, is_first=True),
            Product(256, 512, 256),
            Product(256, 256, 128),
            Product(256, 128, 2),
        ),
    ),
    "attention": Net(
        (32, 128, 100),
        10,
        (
            *[Product(3200, 128, 128, is_first=True)] * 3,
            Product(3200 * N_HEADS, 128 // N_HEADS, 100),
            Product(3200 * N_HEADS, 100, 128 // N_HEADS),
            Product(3200, 128, 128),
            Product(32, 128, 10),
        ),
    ),
}

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
START = "start"
MEMORY = "memory"

# Elements of the vectors that messages are made of, and the threshold that a
# thousandth of them reach: the quantile of |x| for a normal x.
LENGTHS = {"1M": 1_000_000, "10M": 10_000_000}
TAU = 3.2905267


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
    """The minibatch of a network, in DL4J's axis order, and its products."""

    features: tuple[int, ...]
    n_classes: int
    products: tuple[Product, ...]

    @property
    def label_axes(self) -> tuple[int, ...]:
        """The axes of the class numbers: those of the features, less the classes."""
        batch = self.features[:1]
        return batch + self.features[2:] if len(self.features) == 3 else batch

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
    ),
    "resnet": Net((64, 3, 32, 32), 10, tuple(_resnet_products())),
}

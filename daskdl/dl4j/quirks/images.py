"""What DL4J's layers of images and windows compute otherwise."""

from daskdl.dialects import Quirk
from daskdl.dl4j.quirks.concerns import kinds

QUIRKS: tuple[Quirk, ...] = (
    Quirk(
        name="lrn_gradient_by_middle_unit",
        where="gradient of `local_response_normalization`",
        habit="divides the sum over the neighbours by the unit in the middle",
        exact="divides each neighbour by its own unit, which is the derivative",
        test="unit/layers/test_resizing_layers.py",
        concerns=kinds("local_response_normalization"),
    ),
)

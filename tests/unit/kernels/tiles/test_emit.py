"""The code of a tile: how often its products are written out."""

import pytest

from daskdl.kernels.tiles.emit import emit
from daskdl.kernels.tiles.machine import VECTOR_UNITS
from daskdl.kernels.tiles.nest import Argument, Axis, Contraction, Program


def products_written(between_rows):
    """Return the multiply-adds in the code of 4 rows whose sum has 5 products."""
    product = Contraction(
        Argument(0),
        Argument(1),
        Argument(2),
        (Axis(1), Axis(4, a=between_rows, c=16)),
        16,
        (Axis(5, a=1, b=16),),
    )
    code = emit(Program("float32", 3, (product,)), VECTOR_UNITS["avx512f"])
    return code.count("call <16 x float>")


@pytest.mark.parametrize(
    ("between_rows", "at_a_time"), [(9, 5), (5, 5), (4, 1), (1, 1), (-1, 1)]
)
def test_a_number_that_two_rows_read_is_not_kept_in_a_register(between_rows, at_a_time):
    assert products_written(between_rows) == 4 * at_a_time

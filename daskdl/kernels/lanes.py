"""Sixteen lanes at a time: the few operations that numba cannot express.

What stands here is called by kernels like functions of their own, and by nobody else.
It is numba that makes code of it (:mod:`~daskdl.kernels.lane_code`), when a kernel is
compiled: a process that finds its kernels compiled must not import numba for them.
"""

from typing import Any

LANES = 16
BLOCK = 64


class LaneOperation:
    """Stands for code of :mod:`~daskdl.kernels.lane_code`; for kernels only.

    Parameters
    ----------
    name : str
        Of the function there.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def _numba_type_(self) -> Any:
        # What numba asks of a global that a kernel calls.
        from daskdl.kernels.lane_code import type_of

        return type_of(self._name)


add_and_find: Any = LaneOperation("add_and_find")
find_apart: Any = LaneOperation("find_apart")
take_codes: Any = LaneOperation("take_codes")
add_codes: Any = LaneOperation("add_codes")
trailing_zeros: Any = LaneOperation("trailing_zeros")
count_bits: Any = LaneOperation("count_bits")
leading_zeros: Any = LaneOperation("leading_zeros")
high_product: Any = LaneOperation("high_product")
float_of_bits: Any = LaneOperation("float_of_bits")
byte_at: Any = LaneOperation("byte_at")
word_at: Any = LaneOperation("word_at")

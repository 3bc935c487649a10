"""What code is compiled for: the kinds of a kernel's arguments."""

from typing import Any, TypeAlias

import numpy as np

ArrayKind: TypeAlias = "tuple[np.dtype[Any], int, int]"
Kind: TypeAlias = "ArrayKind | type[Any]"

# NumPy's flags C_CONTIGUOUS and ALIGNED, and WRITEABLE, of which numba makes a type.
FLAGS = 0x501
_PLAIN = 0x101

# What an entry takes beside arrays, and what LLVM calls it.
SCALARS: dict[type[Any], str] = {
    bool: "i8",
    int: "i64",
    float: "double",
    np.float64: "double",
    np.float32: "float",
    type(None): "ptr",
}


def kinds_of(arguments: tuple[Any, ...]) -> tuple[Kind, ...]:
    """Return type, axes and layout of arrays, and the type of everything else."""
    return tuple(
        [
            (x.dtype, x.ndim, x.flags.num & FLAGS) if type(x) is np.ndarray else type(x)
            for x in arguments
        ]
    )


def is_plain(kind: Kind) -> bool:
    """Return whether it is a plain array of numbers, or a number, or None."""
    if not isinstance(kind, tuple):
        return kind in SCALARS
    dtype, n_axes, flags = kind
    is_number = dtype.kind in "fiub" and dtype.isnative
    return n_axes > 0 and flags & _PLAIN == _PLAIN and is_number

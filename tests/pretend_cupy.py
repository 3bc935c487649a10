"""A stand-in for CuPy: its strictness on NumPy's arithmetic.

Like CuPy's, its arrays refuse to meet a NumPy array, to be converted to one without
being asked, and to be handled by anything but functions that CuPy has too. And they
refuse what CuPy computes wrongly without a word: an output that overlaps an input.
"""

import itertools
import sys
import types
from typing import ClassVar

import numpy as np

# What layers may call; all of it is in CuPy 13 with the arguments used here.
NAMES = frozenset(
    [
        "abs",
        "absolute",
        "add",
        "all",
        "any",
        "arange",
        "argmax",
        "argsort",
        "asarray",
        "bool_",
        "broadcast_to",
        "clip",
        "concatenate",
        "copyto",
        "cumsum",
        "divide",
        "dot",
        "einsum",
        "empty",
        "empty_like",
        "equal",
        "exp",
        "expm1",
        "finfo",
        "flatnonzero",
        "float64",
        "floor",
        "full",
        "greater",
        "inf",
        "lib",
        "log",
        "log1p",
        "logaddexp",
        "matmul",
        "max",
        "maximum",
        "may_share_memory",
        "mean",
        "min",
        "minimum",
        "moveaxis",
        "multiply",
        "negative",
        "ones",
        "ones_like",
        "power",
        "prod",
        "sign",
        "sqrt",
        "square",
        "stack",
        "subtract",
        "sum",
        "take",
        "take_along_axis",
        "tanh",
        "uint32",
        "uint8",
        "where",
        "zeros",
        "zeros_like",
    ]
)


class PretendArray(np.ndarray):
    __module__ = "cupy"

    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **options):
        refuse_host_arrays((*inputs, *out, *options.values()))
        options = {key: plain(value) for key, value in options.items()}
        if out:
            refuse_overlaps(inputs, out)
            options["out"] = tuple(plain(array) for array in out)
        result = getattr(ufunc, method)(*map(plain, inputs), **options)
        return out[0] if out else pretend(result)

    def __array_function__(self, function, kinds, args, options):
        raise TypeError(f"numpy.{function.__name__} was called on a device array")

    def __array__(self, *args, **options):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __getitem__(self, index):
        refuse_host_arrays(as_tuple(index))
        return super().__getitem__(plain(index))

    def __setitem__(self, index, value):
        refuse_host_arrays((*as_tuple(index), value))
        if isinstance(value, PretendArray):
            refuse_overlaps([value], [self[index]])
        super().__setitem__(plain(index), plain(value))

    def get(self):
        return plain(self).copy()

    def sum(self, *args, **options):
        return Namespace.sum(self, *args, **options)

    def any(self, **options):
        return Namespace.any(self, **options)


def as_tuple(index):
    return index if isinstance(index, tuple) else (index,)


def plain(value):
    """Return what NumPy can work on."""
    if isinstance(value, tuple | list):
        return type(value)(plain(item) for item in value)
    return value.view(np.ndarray) if isinstance(value, PretendArray) else value


def pretend(value):
    if isinstance(value, np.generic):
        value = np.asarray(value)
    return value.view(PretendArray) if isinstance(value, np.ndarray) else value


def refuse_host_arrays(values):
    for value in values:
        if isinstance(value, tuple | list):
            refuse_host_arrays(value)
        elif type(value) is np.ndarray:
            raise TypeError("Unsupported type <class 'numpy.ndarray'>")


def refuse_overlaps(inputs, outputs):
    arrays = [array for array in inputs if isinstance(array, PretendArray)]
    for array, out in itertools.product(map(plain, arrays), map(plain, outputs)):
        if np.shares_memory(array, out) and not is_same_view(array, out):
            raise TypeError(
                "an output overlaps an input: CuPy reads what it has written"
            )


def is_same_view(one, other):
    return one.__array_interface__ == other.__array_interface__


def wrapped(name):
    function = getattr(np, name)

    def call(*args, out=None, **options):
        if name == "einsum" and out is not None:
            raise TypeError("CuPy's einsum takes no out")
        if name != "asarray":
            refuse_host_arrays((*args, out, *options.values()))
        if out is not None:
            refuse_overlaps(args, [out])
            options["out"] = plain(out)
        result = function(*plain(args), **{k: plain(v) for k, v in options.items()})
        if name == "asarray" and type(args[0]) is np.ndarray:
            # What comes from the host lies somewhere else afterwards.
            result = result.copy()
        return pretend(result) if out is None else out

    if isinstance(function, np.ufunc):
        call.at = lambda *args: function.at(*map(plain, args))
    return staticmethod(call)


class Namespace(types.SimpleNamespace):
    """Stands where the module ``cupy`` would."""

    cuda: ClassVar = types.SimpleNamespace(
        runtime=types.SimpleNamespace(
            getDeviceCount=lambda: 1,
            getDeviceProperties=lambda number: {
                "name": b"NVIDIA Pretence",
                "totalGlobalMem": 80 * 2**30,
                "major": 9,
                "minor": 0,
            },
        )
    )
    __version__ = "14.2.0"

    lib: ClassVar = types.SimpleNamespace(
        stride_tricks=types.SimpleNamespace(
            as_strided=lambda x, *args: pretend(
                np.lib.stride_tricks.as_strided(plain(x), *args)
            )
        )
    )


for _name in NAMES - {"lib"}:
    _is_plain = isinstance(getattr(np, _name), type | float) or _name == "finfo"
    setattr(Namespace, _name, getattr(np, _name) if _is_plain else wrapped(_name))


# In a file, so that processes that we spawn, which get our path, find it as well.
MODULE = """\
import sys

from tests.pretend_cupy import Namespace

sys.modules["cupy"] = Namespace
"""


def as_module(monkeypatch, folder):
    """Let ``import cupy`` give the stand-in, here and in workers that start.

    Parameters
    ----------
    monkeypatch : pytest.MonkeyPatch
    folder : Path
        For a file; on the path until the test ends.
    """
    (folder / "cupy.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    monkeypatch.delenv("DASKDL_BACKEND_PRIORITY_GPU", raising=False)

"""Pickles that name what must not run, in every way in which a pickle can name it."""

import copyreg
import datetime
import decimal
import math
import pickle
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

import numpy as np

from tests.unit.bridge.fuzz import canary

__all__ = ["NEVER_IMPORTED", "hostile_pickle", "odd_pickle", "registered_extension"]

NEVER_IMPORTED = "tests.unit.bridge.fuzz.never_imported"
"""A module that there is none of: looking for it is a finding."""

_HERE = canary.__name__
_EXTENSION = 0xF1

_NAMES = (
    *[(_HERE, "trip")] * 4,
    *[(_HERE, "Tripping")] * 2,
    *((_HERE, "Allowed.__new__"), (_HERE, "Allowed._make"), (_HERE, "Allowed")),
    (f"{_HERE}.Allowed", "__new__"),
    (NEVER_IMPORTED, "anything"),
    *(("os", "system"), ("posix", "system"), ("nt", "system"), ("os", "mkdir")),
    *(("builtins", "eval"), ("__builtin__", "eval"), ("builtins", "exec")),
    *(("builtins", "getattr"), ("builtins", "map"), ("builtins", "__import__")),
    *(("operator", "attrgetter"), ("operator", "methodcaller")),
    *(("functools", "partial"), ("importlib", "import_module")),
    *(("subprocess", "Popen"), ("pickle", "loads"), ("copyreg", "_reconstructor")),
    *(("copyreg", "__newobj__"), ("types", "FunctionType"), ("types", "CodeType")),
    *(("numpy", "load"), ("numpy", "fromfile"), ("numpy", "savetxt")),
    *(("numpy", "dtype.__init__"), ("numpy.core", "multiarray.empty")),
    *(("numpy", "dtype"), ("numpy", "ndarray"), ("array", "array")),
    ("numpy._core.multiarray", "_reconstruct"),
    *(("numpy._core.numeric", "_frombuffer"), ("_codecs", "encode")),
    *(("datetime", "datetime"), ("datetime", "timezone"), ("decimal", "Decimal")),
    *(("collections", "OrderedDict"), ("builtins", "bytearray")),
    *(("pyspark.ml.linalg", "SparseVector"), ("pyspark.sql.types", "_create_row")),
    ("pyspark.mllib.regression", "LabeledPoint"),
    *(("pyspark.serializers", "_restore"), ("pyspark.cloudpickle", "loads")),
)
_EAST = datetime.timezone(datetime.timedelta(hours=9))
# Values at the ends of what Python holds, and beyond what Arrow and Spark do.
_ODD = (
    *(0, -1, 1 << 62, -(1 << 63), (1 << 71) - 1, True, None, "", "\0", b""),
    *(1e308, -0.0, 5e-324, math.nan, -math.inf),
    *map(decimal.Decimal, ("1E-9999999", "1E+9999999", "1E-40", "9" * 39, "sNaN", "0")),
    *(datetime.date.min, datetime.date.max),
    *(datetime.timedelta.min, datetime.timedelta.max),
    *(datetime.datetime.min.replace(tzinfo=zone) for zone in (None, _EAST)),
    *(datetime.datetime.max.replace(tzinfo=zone) for zone in (None, _EAST)),
    *([], [[]], (), {}, {"x": {}}, [None], [True, 2], [1 << 70], [[1.0], 2.0]),
    *(np.zeros(0), np.zeros((1, 1, 1, 1)), np.zeros(1, bool), np.float16(6e4)),
)
_SHELL = "python -c 'from tests.unit.bridge.fuzz import canary'"
_CODE = f"__import__({_HERE!r}, fromlist=['x']).trip()"


@contextmanager
def registered_extension() -> Iterator[None]:
    """Give the canary a number in the extension registry, which pickles may name."""
    copyreg.add_extension(_HERE, "trip", _EXTENSION)
    try:
        yield
    finally:
        copyreg.remove_extension(_HERE, "trip", _EXTENSION)


def hostile_pickle(random: Random) -> bytes:
    """Return a pickle of two to five levels of calls and containers."""
    protocol = b"\x80" + bytes([random.choice((2, 3, 4, 5, 5))])
    return protocol + _value(random, random.randint(1, 4)) + b"."


def odd_pickle(random: Random) -> bytes:
    """Return a pickle of one or two tuples of three, with odd values in them."""
    usual = ("a", 1, [0.5, 1.5])
    rows = [
        tuple(random.choice((one, random.choice(_ODD))) for one in usual)
        for _ in range(random.randint(1, 2))
    ]
    return pickle.dumps(rows, random.choice((2, 3, 4, 5)))


def _value(random: Random, depth: int) -> bytes:
    if depth <= 0:
        return _constant(random)
    return random.choice((_call, _call, _call, _container, _memoized))(random, depth)


def _constant(random: Random) -> bytes:
    text = random.choice(("", "f8", "x", "C", "latin1", _CODE, _SHELL, _HERE, "trip"))
    number = random.choice((0, 1, -1, 2**31 - 1, random.getrandbits(16)))
    return random.choice(
        (
            *(b"N", b"\x88", b")", b"]", b"}", b"K\x01"),
            _text(text),
            b"J" + struct.pack("<i", number),
            b"G" + struct.pack(">d", random.uniform(-9, 9)),
            b"C\x08" + random.randbytes(8),
        )
    )


def _text(text: str) -> bytes:
    return b"X" + struct.pack("<I", len(text)) + text.encode()


def _container(random: Random, depth: int) -> bytes:
    one, other = (_value(random, depth - random.randint(1, 2)) for _ in range(2))
    return random.choice(
        (
            b"](" + one + other + b"e",
            b"]" + one + b"a",
            one + other + b"\x86",
            one + b"\x85",
            b"(" + one + other + b"t",
            b"}" + _text("x") + one + b"s",
            b"}(" + _text("x") + one + _text("y") + other + b"u",
            b"\x8f(" + one + other + b"\x90",
            b"(" + one + other + b"\x91",
        )
    )


def _memoized(random: Random, depth: int) -> bytes:
    """Return a value that is kept by a number, taken off, and fetched again."""
    value = _value(random, depth - 1)
    number = random.randint(0, 3)
    kept = random.choice((b"q%c" % number, b"\x94", b"r" + struct.pack("<I", number)))
    again = b"h" + bytes([random.randint(0, 3)])
    return value + kept + random.choice((b"", b"0" + again, again + b"\x86"))


def _call(random: Random, depth: int) -> bytes:
    named = _name(random)
    arguments = b"(" + b"".join(
        _value(random, depth - random.randint(1, 3))
        for _ in range(random.randint(0, 4))
    )
    state = _value(random, depth - 1)
    module, name = random.choice(_NAMES)
    return random.choice(
        (
            *[named + arguments + b"tR"] * 4,
            named + arguments + b"tR" + state + b"b",
            named + arguments + b"t\x81" + random.choice((b"", state + b"b")),
            named + arguments + b"t}\x92",
            named + arguments + b"t}" + _text("x") + state + b"s\x92",
            b"(" + named + arguments[1:] + b"o",
            arguments + f"i{module}\n{name}\n".encode(),
            named + state + b"b",
            named,
        )
    )


def _name(random: Random) -> bytes:
    module, name = random.choice(_NAMES)
    return random.choice(
        (
            *[f"c{module}\n{name}\n".encode()] * 2,
            *[_text(module) + _text(name) + b"\x93"] * 2,
            # By the memo, so that the texts do not stand in front.
            _text(module) + b"q\x09" + _text(name) + b"q\x0a00h\x09h\x0a\x93",
            b"\x82" + bytes([_EXTENSION]),
            b"\x83" + struct.pack("<H", _EXTENSION),
            b"\x84" + struct.pack("<i", _EXTENSION),
            f"P{module}.{name}\n".encode(),
            _text(f"{module}.{name}") + b"Q",
            # An attribute of what was named.
            f"c{module}\n{name}\n".encode() + _text("__globals__") + b"\x93",
        )
    )

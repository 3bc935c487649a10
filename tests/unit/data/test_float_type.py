"""The float type that stored numbers are cast to."""

import numpy as np
import pytest

from daskdl.data.float_type import float_type


@pytest.mark.parametrize(
    "stored", ["float16", "float32", "int8", "uint8", "int16", "uint16", "bool"]
)
def test_float32_where_it_holds_all_numbers_of_a_type(stored):
    assert float_type(None, [stored]) == np.float32


@pytest.mark.parametrize(
    "stored", ["float64", "int32", "uint32", "int64", "uint64", "longdouble", "object"]
)
def test_float64_where_it_does_not(stored):
    assert float_type(None, ["float32", stored]) == np.float64


def test_what_is_wanted_is_taken():
    assert float_type("float32", ["float64"]) == np.float32

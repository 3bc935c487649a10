"""Numbers as Java prints them."""

import math

import pytest

from daskdl.evaluation.java_numbers import java_fixed, java_scientific


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.53125, "0.5313"),
        (0.00005, "0.0001"),
        (0.12344999, "0.1234"),
        (1.0, "1.0000"),
        (-0.53125, "-0.5313"),
        (1e300, "1" + 300 * "0" + ".0000"),
        (5e-324, "0.0000"),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
    ],
)
def test_fixed_digits_are_rounded_half_up(value, text):
    assert java_fixed(value, 4) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.00125, "1.3e-03"), (125.0, "1.3e+02"), (0.0, "0.0e+00"), (math.nan, "NaN")],
)
def test_exponents_are_rounded_half_up(value, text):
    assert java_scientific(value, 1) == text

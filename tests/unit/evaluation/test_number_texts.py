"""Numbers as Java prints them."""

import math

import numpy as np
import pytest

from daskdl.evaluation.number_texts import fixed_text, number_text, scientific_text


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
    assert fixed_text(value, 4) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.00125, "1.3e-03"), (125.0, "1.3e+02"), (0.0, "0.0e+00"), (math.nan, "NaN")],
)
def test_exponents_are_rounded_half_up(value, text):
    assert scientific_text(value, 1) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (0.001, "0.001"),
        (0.000999, "9.99E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (-1.25e-10, "-1.25E-10"),
        (1e100, "1.0E100"),
        (np.float32(0.1), "0.1"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (math.nan, "NaN"),
    ],
)
def test_numbers_are_those_of_java(value, text):
    assert number_text(value) == text

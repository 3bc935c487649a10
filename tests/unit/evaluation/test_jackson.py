"""Numbers and text as Java prints them."""

import json
import math

import numpy as np
import pytest

from daskdl.evaluation.jackson import dumps
from daskdl.evaluation.java_numbers import java_number


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
    assert java_number(value) == text


def test_nested_values():
    text = dumps({"a": [], "b": {}, "c": [[1, 2.5], [None, True]], "d": {"e": "ü"}})
    assert text == (
        '{\n  "a" : [ ],\n  "b" : { },\n  "c" : [ [ 1, 2.5 ], [ null, true ] ],\n'
        '  "d" : {\n    "e" : "ü"\n  }\n}'
    )


def test_what_json_has_no_number_for_is_a_word():
    assert json.loads(dumps([math.nan, -math.inf])) == ["NaN", "-Infinity"]

"""JSON as DL4J's Jackson prints it."""

import json
import math

from daskdl.dl4j.java.jackson import dumps


def test_nested_values():
    text = dumps({"a": [], "b": {}, "c": [[1, 2.5], [None, True]], "d": {"e": "ü"}})
    assert text == (
        '{\n  "a" : [ ],\n  "b" : { },\n  "c" : [ [ 1, 2.5 ], [ null, true ] ],\n'
        '  "d" : {\n    "e" : "ü"\n  }\n}'
    )


def test_what_json_has_no_number_for_is_a_word():
    assert json.loads(dumps([math.nan, -math.inf])) == ["NaN", "-Infinity"]

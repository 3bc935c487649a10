"""DL4J's JSON and YAML as texts."""

import pytest

from daskdl.dl4j.network.text import parse_text
from daskdl.dl4j.network.yaml_text import dump_dl4j_yaml, load_dl4j_yaml
from daskdl.errors import FormatError

DENSE = "org.deeplearning4j.nn.conf.layers.DenseLayer"
NORMAL = "org.deeplearning4j.nn.conf.distribution.NormalDistribution"

PAIRS = [
    ({"a": 1, "b": 0.5, "c": None, "d": True}, "a: 1\nb: 0.5\nc: null\nd: true\n"),
    ({"a": 1e-8, "b": 1e300}, "a: 1.0E-8\nb: 1.0E300\n"),
    ({"a": "text", "b": "1"}, 'a: "text"\nb: "1"\n'),
    ({"a": "NaN", "b": "-Infinity"}, "a: NaN\nb: -Infinity\n"),
    ({"a": 'é"\\\n'}, 'a: "é\\"\\\\\\n"\n'),
    ({"a": {}, "b": []}, "a: {}\nb: []\n"),
    ({"a": {"b": {"c": 1}}}, "a:\n  b:\n    c: 1\n"),
    ({"a": [1, 2]}, "a:\n- 1\n- 2\n"),
    ({"a": [[1, 2], [3]]}, "a:\n- - 1\n  - 2\n- - 3\n"),
    ({"a": [[], {}]}, "a:\n- []\n- {}\n"),
    ({"a": [{"b": 1, "c": 2}]}, "a:\n- b: 1\n  c: 2\n"),
    ({"0": 1, "10": 2}, "0: 1\n10: 2\n"),
    ({"null": 1, "yes": 2}, '"null": 1\n"yes": 2\n'),
    ({"a b": 1, "a: b": 2}, 'a b: 1\n"a: b": 2\n'),
    ({"a": {"@class": DENSE, "nin": 3}}, f"a: !<{DENSE}>\n  nin: 3\n"),
    ({"a": {"@class": DENSE}}, f"a: !<{DENSE}> {{}}\n"),
    ({"a": [{"@class": DENSE, "nin": 3}]}, f"a:\n- !<{DENSE}>\n  nin: 3\n"),
    ({"a": [{"@class": DENSE}]}, f"a:\n- !<{DENSE}> {{}}\n"),
    ({"a": {"type": NORMAL, "mean": 0.0}}, f"a: !<{NORMAL}>\n  mean: 0.0\n"),
    ({"a": {"type": "other", "mean": 0.0}}, 'a:\n  type: "other"\n  mean: 0.0\n'),
    ({"a": {"MSE": {}}}, "a: !<MSE> {}\n"),
]


@pytest.mark.parametrize(("data", "text"), PAIRS)
def test_an_object_is_written_as_dl4j_writes_it(data, text):
    assert dump_dl4j_yaml(data) == f"---\n{text}"


@pytest.mark.parametrize(("data", "text"), PAIRS)
def test_what_is_written_is_read_again(data, text):
    assert load_dl4j_yaml(f"---\n{text}", "f") == data


def test_a_class_may_be_a_key_as_in_json():
    text = f"layer:\n  '@class': {DENSE}\n  nin: 3\n"
    assert load_dl4j_yaml(text, "f") == {"layer": {"@class": DENSE, "nin": 3}}


def test_an_old_class_stands_around_its_object():
    text = "layer: !<dense>\n  nin: 3\n"
    assert load_dl4j_yaml(text, "f") == {"layer": {"dense": {"nin": 3}}}


def test_a_text_is_json_where_it_begins_so():
    assert parse_text('\n {"a": [1]}', "f") == {"a": [1]}
    assert parse_text("a: [1]", "f") == {"a": [1]}


@pytest.mark.parametrize("text", ["[1]", "1", "text", "--- {}\n--- {}"])
def test_a_text_without_an_object_is_refused(text):
    with pytest.raises(FormatError, match="f: must be"):
        parse_text(text, "f")

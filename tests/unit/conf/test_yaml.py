"""YAML in and out."""

import itertools

import pytest

from daskdl.errors import OptionError
from daskdl.nn.conf.yaml import dump_yaml, load_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("1E5", 1e5),
        ("-2.5e3", -2500.0),
        ("-.5", -0.5),
        ("1.", 1.0),
        ("010", 8),
        ("0x1f", 31),
        ("1_000", 1000),
        (".inf", float("inf")),
        ("12:30", "12:30"),
        ("2 GiB", "2 GiB"),
        ("1.2.3", "1.2.3"),
        ("e3", "e3"),
    ],
)
def test_numbers_are_those_of_yaml_1_2(text, value):
    assert load_yaml(text) == value


@pytest.mark.parametrize("value", ["1e-3", "1e3", ".5", "010", "yes", "", "12:30"])
def test_text_that_reads_like_a_number_comes_back_as_text(value):
    assert load_yaml(dump_yaml({"a": value})) == {"a": value}


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 100_000, "- " * 100_000])
def test_what_is_nested_without_end_is_refused(text):
    with pytest.raises(OptionError, match=r"^job\.yaml: .* at most 100 levels"):
        load_yaml(text, "job.yaml")


def test_aliases_of_aliases_are_refused():
    names = "abcdefgh"
    lines = ["a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    for before, name in itertools.pairwise(names):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]")
    with pytest.raises(OptionError, match="must have at most 1000000 parts"):
        load_yaml("\n".join(lines))


def test_an_alias_within_itself_is_refused():
    with pytest.raises(OptionError, match="must have at most 1000000 parts"):
        load_yaml("a: &a [*a]")


def test_a_number_that_python_refuses_is_refused_in_our_words():
    with pytest.raises(OptionError, match="must be valid YAML, got Exceeds the limit"):
        load_yaml("a: " + "1" * 5000)


def test_a_day_that_there_is_not_is_refused():
    with pytest.raises(OptionError, match="must be valid YAML, got month"):
        load_yaml("a: 2020-99-99")

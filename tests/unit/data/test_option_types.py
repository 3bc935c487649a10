"""Options of a wrong type are refused by name, wherever they are given."""

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Literal

import numpy as np
import pytest

import daskdl
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import OptionError
from daskdl.option_types import check_option_types, with_checked_types

# Of no option of any source.
WRONG = (object(), 1 + 2j, b"x", {3: "a"})


@pytest.mark.parametrize("option", [one.name for one in fields(SourceOptions)])
@pytest.mark.parametrize("wrong", WRONG, ids=lambda one: type(one).__name__)
def test_every_option_of_sources_refuses_what_it_is_not(option, wrong):
    with pytest.raises(OptionError, match=f"^SourceOptions: .*{option}"):
        SourceOptions(**{option: wrong})


@pytest.mark.parametrize(
    ("option", "wrong", "words"),
    [
        ("row_tag", 3, "row_tag must be a str or None, got 3"),
        ("format", 1, "format must be a str or None, got 1"),
        ("n_classes", "3", "n_classes must be a whole number, several .* or None, got"),
        ("n_features", 2.5, "n_features must be a whole number or None, got 2.5"),
        ("feature_shape", 9, "feature_shape must be several whole numbers or None"),
        ("multi_line", "yes", "multi_line must be True or False, got 'yes'"),
        ("storage_options", "x", "storage_options must be a dict, got 'x'"),
        ("features", {3: "a"}, "each name in features must be a str, got int"),
    ],
)
def test_the_option_what_it_must_be_and_what_came_are_told(option, wrong, words):
    with pytest.raises(OptionError, match=words):
        SourceOptions(**{option: wrong})


def test_lists_stand_for_tuples():
    options = SourceOptions(n_classes=[3, None], feature_shape=[1, 28, 28])
    assert (options.n_classes, options.feature_shape) == ((3, None), (1, 28, 28))


@pytest.mark.parametrize(
    ("hint", "right", "wrong"),
    [
        (bool, [True, np.True_], [1, "yes", None]),
        (int, [1, np.int64(2)], [1.0, True, "1"]),
        (float, [1, 2.5, np.float32(1)], ["1", True, None]),
        (Sequence[float], [(0.5, 1), [0.5], np.ones(2)], ["ab", 0.5, {}, ["a"]]),
        (Iterable[str], [["a"], iter("ab")], [3, "a", [3]]),
        (Mapping[str, float], [{"a": 1}], [[("a", 1)], "a"]),
        (dict[str, Any], [{}, {"a": 3}], [{3: "a"}, []]),
        (Literal["a", "b"] | None, ["a", None], ["c", 3]),
        (Callable[[str], Any], [print], ["print"]),
        (datetime.datetime, [datetime.datetime.now(datetime.timezone.utc)], ["now"]),
        (Any, [3, object()], []),
    ],
)
def test_values_are_held_against_types(hint, right, wrong):
    for value in right:
        check_option_types("who", {"x": value}, {"x": hint})
    for value in wrong:
        with pytest.raises(OptionError, match="who: x must be "):
            check_option_types("who", {"x": value}, {"x": hint})


def test_what_is_long_is_told_by_its_type():
    with pytest.raises(OptionError, match="x must be a str, got a list"):
        check_option_types("who", {"x": list(range(99))}, {"x": str})


def test_arguments_are_checked_by_position_and_by_name():
    @with_checked_types
    def cut(size: int, *, names: Sequence[str] = ()) -> int:
        return size

    assert cut(3, names=["a"]) == 3
    with pytest.raises(OptionError, match="cut: size must be a whole number, got 'x'"):
        cut("x")
    with pytest.raises(OptionError, match="cut: names must be several strs, got 'a'"):
        cut(3, names="a")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: daskdl.split("x.csv", 3, seed=1), "split: fractions must be several"),
        (
            lambda: daskdl.export_parquet("x.csv", 5),
            "export_parquet: path_or_url must be a str or a path, got 5",
        ),
        (
            lambda: daskdl.create_file_batches(
                "a", "b", batch_size=2, seed=1, extensions=7
            ),
            "create_file_batches: extensions must be several strs or None, got 7",
        ),
        (
            lambda: daskdl.write_text("x.txt", 7),
            "write_text: text must be a str, got 7",
        ),
        (lambda: daskdl.open_source("x.csv", 7), "options must be a SourceOptions"),
    ],
)
def test_functions_refuse_before_anything_is_read(call, words):
    with pytest.raises(OptionError, match=words):
        call()

"""Names of columns are quoted where Spark would parse them."""

import pyarrow as pa
import pytest

from daskdl_bridge.spark.column_names import quoted, with_plain_names
from daskdl_bridge.spark.direct_sending import _named
from daskdl_bridge.spark.export import chosen_columns


class Frame:
    """A DataFrame as far as columns are chosen of it."""

    isStreaming = False
    columns = ("x.y", "a`b")

    def select(self, names):
        return names

    def toDF(self, *names):
        return names


@pytest.mark.parametrize(
    ("name", "expected"),
    [("x", "`x`"), ("x.y", "`x.y`"), ("a`b", "`a``b`"), ("`", "````")],
)
def test_a_name_is_quoted(name, expected):
    assert quoted(name) == expected


def test_chosen_columns_are_quoted():
    assert chosen_columns("export", Frame(), ["x.y", "a`b"]) == ["`x.y`", "`a``b`"]


def test_names_for_map_in_arrow_need_no_quotes():
    assert with_plain_names(Frame()) == ("column_0", "column_1")


def test_what_is_sent_has_its_own_names_again():
    batch = pa.record_batch({"column_0": [1], "column_1": ["a"]})
    named = _named(batch, ["x.y", "a`b"])
    assert named.to_pydict() == {"x.y": [1], "a`b": ["a"]}

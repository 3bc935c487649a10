"""Which options RDDs take, by what their first element is."""

import pytest

from daskdl.data.dataset import DataSet
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import OptionError
from daskdl_bridge.element_kinds import ElementKind
from daskdl_bridge.spark import opening
from daskdl_bridge.spark.export import Export
from daskdl_bridge.spark.rdd_kinds import kind_of_rdd
from daskdl_bridge.spark.sources import SparkSources
from tests.unit.bridge.table_files import write_parquet
from tests.unit.bridge.uneven_rows import UNEVEN, check_uneven_rows


class RDD:
    """An RDD as far as openers look at it before Spark works."""

    def __init__(self, *elements):
        self.elements = list(elements)

    def take(self, n_elements):
        return self.elements[:n_elements]

    def collect(self):
        return self.elements


RDD.__module__ = "pyspark.rdd"


class Row(tuple):
    """As Spark's, by its name."""

    __slots__ = ()


@pytest.fixture
def exports(tmp_path, monkeypatch):
    """Return what Spark writes of any RDD of rows."""
    there = Export(write_parquet(tmp_path / "x.parquet", UNEVEN), "RDD of rows")
    monkeypatch.setattr(opening, "exported", lambda *_: there)


@pytest.mark.usefixtures("exports")
def test_an_rdd_of_rows_heeds_what_tables_do():
    check_uneven_rows(SparkSources(), RDD(Row()))


OPTIONS = {"align": "end", "handle_invalid": "skip", "keep": "s"}
ELEMENTS = {
    "datasets": DataSet([[1.0]], [[1.0]]),
    "pairs": ("k", [1.0]),
    "triples": ("k", [1.0], [1.0]),
}


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("element", ELEMENTS.values(), ids=ELEMENTS)
def test_an_rdd_of_arrays_heeds_nothing_of_tables(element, option):
    value = OPTIONS[option]
    options = SourceOptions(**{option: value}, require_labels=False)
    with pytest.raises(OptionError, match=f"Spark's data, got {option}="):
        SparkSources().open(RDD(element), options)


def test_an_rdd_of_paths_takes_the_options_of_files(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("1;2;0\n3;4;1\n")
    options = SourceOptions(
        format="csv", delimiter=";", features=("_c0", "_c1"), label="_c2"
    )
    source = SparkSources().open(RDD(str(path)), options)
    assert source.partitions[0].load().features.tolist() == [[1, 2], [3, 4]]


def test_keys_of_an_rdd_are_told_by_its_first_element():
    plain, keyed = DataSet([[1.0]]), DataSet([[1.0]], keys=["k"])
    kinds = [kind_of_rdd(RDD(element)) for element in (plain, keyed, ("k", [1.0]))]
    assert kinds == [
        ElementKind.DATASETS,
        ElementKind.KEYED_DATASETS,
        ElementKind.PAIRS,
    ]
    assert [kind.keys for kind in kinds] == [None, "values", "values"]

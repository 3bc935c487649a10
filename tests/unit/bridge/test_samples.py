"""Every form that Spark wrote gives the rows that Spark was given."""

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from daskdl.data.sources.source import SourceOptions
from daskdl_bridge.listing import list_parts
from daskdl_bridge.readers.csv import CsvReader
from daskdl_bridge.readers.json import JsonReader
from daskdl_bridge.readers.orc import OrcReader
from daskdl_bridge.readers.parquet import ParquetReader
from daskdl_bridge.source import PathSources
from tests.unit.bridge.sample_forms import FORMS, checksums, columns_of, path_of

AS_EXAMPLES = [
    *(
        form
        for form in FORMS
        if form.startswith("parquet_")
        and form not in ("parquet_unfinished", "parquet_image")
    ),
    "csv_header",
    "csv_noheader",
    "csv_gzip",
    "json",
    "orc",
    "libsvm",
]


def options_of(form: str) -> SourceOptions:
    names = list(columns_of(form))
    stored = {name: name for name in names}
    if form == "csv_noheader":
        stored = {name: f"_c{i}" for i, name in enumerate(names)}
    singles = [stored[name] for name in names if name.startswith("p")]
    key = "id" if "id" in names else "key" if "key" in names else None
    return SourceOptions(
        features=tuple(singles) or "features",
        label=stored.get("label"),
        key=key,
        dtype="float64",
        require_labels="label" in names,
    )


def rows_of(form: str) -> Iterator[list[Any]]:
    """Rebuild the manifest's rows from the examples."""
    source = PathSources().open(path_of(form), options_of(form))
    kinds = columns_of(form)
    whole = {name for name, kind in kinds.items() if kind in ("int", "bigint")}
    for partition in pickle.loads(pickle.dumps(source.partitions)):
        batch = partition.load()
        for i in range(batch.num_examples):
            values: dict[str, Any] = {"features": batch.features[i].tolist()}
            values |= dict(
                zip(_singles(kinds), batch.features[i].tolist(), strict=False)
            )
            if batch.labels is not None:
                values["label"] = float(batch.labels[i, 0])
            if batch.keys is not None:
                values["id"] = values["key"] = np.asarray(batch.keys).tolist()[i]
            yield [int(values[n]) if n in whole else values[n] for n in kinds]


def _singles(kinds: dict[str, str]) -> list[str]:
    return [name for name in kinds if name.startswith("p")]


@pytest.mark.parametrize("form", AS_EXAMPLES)
def test_examples_have_the_values_that_spark_was_given(form):
    found = checksums(rows_of(form))
    assert found["rows"] == FORMS[form]["rows"]
    assert found["unordered"] == FORMS[form]["unordered"]
    assert FORMS[form]["ordered"] in (found["ordered"], None)


@pytest.mark.parametrize("form", [f for f in AS_EXAMPLES if "csv" not in f])
def test_rows_are_known_without_loading_where_a_footer_tells(form):
    partitions = PathSources().open(path_of(form), options_of(form)).partitions
    known = [partition.rows for partition in partitions]
    if form.startswith(("parquet", "orc")):
        assert sum(known) == FORMS[form]["rows"]
    else:
        assert known == [None] * len(partitions)


TEXT = frozenset(["name"])
READERS = {
    "nulls_parquet": ParquetReader(),
    "nulls_orc": OrcReader(),
    "nulls_csv": CsvReader(tuple(columns_of("nulls_csv")), True, TEXT),
    "parquet_image": ParquetReader(),
    "binaryfile_parquet": ParquetReader(),
}


def nulls_json_reader() -> JsonReader:
    options = SourceOptions(
        features=("id", "weight", "features"), label="label", key="name"
    )
    reader = PathSources().open(path_of("nulls_json"), options).partitions[0].reader
    assert isinstance(reader, JsonReader)
    return reader


@pytest.mark.parametrize("form", [*READERS, "nulls_json"])
def test_tables_have_the_values_that_spark_was_given(form):
    """Null, NaN, infinite, empty and escaped values included."""
    reader = READERS.get(form) or nulls_json_reader()
    kinds = columns_of(form)
    # With the defaults Spark itself reads the empty texts that it wrote as null.
    options = SourceOptions(null_value="null", multi_line="csv" in form)
    rows: list[list[Any]] = []
    for part in list_parts(path_of(form)):
        for table in reader.read_blocks(part, list(kinds), options):
            columns = [table.column(name).to_pylist() for name in kinds]
            rows += [list(row) for row in zip(*columns, strict=True)]
    for row in rows:
        for at, kind in enumerate(kinds.values()):
            if kind in ("int", "bigint") and row[at] is not None:
                row[at] = int(row[at])
    found = checksums(rows)
    assert found["rows"] == FORMS[form]["rows"]
    assert found["unordered"] == FORMS[form]["unordered"]
    assert FORMS[form]["ordered"] in (found["ordered"], None)


def test_raw_and_encoded_images_hold_the_same_pixels():
    def features(column: str, shape: tuple[int, ...] | None) -> Any:
        options = SourceOptions(
            features=column, label="label", feature_shape=shape, n_classes=10
        )
        source = PathSources().open(path_of("parquet_image"), options)
        return np.concatenate([p.load().features for p in source.partitions])

    raw = features("pixels", (1, 8, 8))
    assert raw.shape == (200, 1, 8, 8)
    # The images were scaled by 16 and clipped to a byte.
    np.testing.assert_array_equal(features("png", None), np.minimum(raw * 16, 255))

"""Labels that are texts: numbers of classes by their names, and what is refused."""

import pyarrow as pa
import pytest

from daskdl import Output
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.errors import ColumnError, DataError, OptionError
from daskdl.nn.conf.input_type import FeedForward
from daskdl.nn.conf.network import MultiLayerConfiguration
from daskdl.nn.multilayer import MultiLayerNetwork
from tests.unit.bridge import test_tfrecord as tfrecord
from tests.unit.bridge.table_files import (
    write_json,
    write_orc,
    write_parquet,
    write_text,
)
from tests.unit.bridge.test_nested import write_records
from tests.unit.bridge.test_pickle_rows import pickled
from tests.unit.bridge.test_pickle_rows import write as write_pickles

NAMES = ("setosa", "versicolor", "virginica")
# The third is no class, and the fourth has none.
ROWS = [
    {"x": 1.0, "species": "virginica"},
    {"x": 2.0, "species": "setosa"},
    {"x": 3.0, "species": "tulip"},
    {"x": 4.0, "species": None},
    {"x": 5.0, "species": "versicolor"},
]
GOOD = [row for row in ROWS if row["species"] in NAMES]
FORMS = [
    *("parquet", "orc", "json", "csv", "avro", "xml", "text", "tfrecord", "pickle"),
    *("table", "dictionary", "dask"),
]


def columns_of(rows):
    return {name: [row[name] for row in rows] for name in rows[0]}


def write_avro(path, rows):
    pytest.importorskip("fastavro", reason="fastavro is not installed")
    types = {"x": "double", "species": ["null", "string"]}
    nested = write_records(path, [{"r": row} for row in rows], **types)
    return nested, {"features": "r.x", "label": "r.species"}


def made(form, path, rows):
    """Return data of a form, and the options that open them."""
    columns, path = columns_of(rows), path / f"x.{form}"
    lines = "".join(f"{row['x']},{row['species'] or ''}\n" for row in rows)
    tags = "".join(
        f"<r><x>{row['x']}</x><species>{row['species'] or ''}</species></r>"
        for row in rows
    )
    texts = pa.array(columns["species"])
    if form == "avro":
        return write_avro(path, rows)
    if form == "dask":
        return dask_frame(columns), {}
    if form == "tfrecord":
        examples = [
            tfrecord.example(
                x=[row["x"]], species=[(row["species"] or "").encode()] if row else []
            )
            for row in rows
        ]
        return tfrecord.write(path, *examples), {}
    return {
        "csv": lambda: (write_text(path, f"x,species\n{lines}"), {}),
        "dictionary": lambda: (
            pa.table(columns | {"species": texts.dictionary_encode()}),
            {},
        ),
        "json": lambda: (write_json(path, rows), {}),
        "orc": lambda: (write_orc(path, columns), {}),
        "parquet": lambda: (write_parquet(path, columns), {}),
        "pickle": lambda: (
            write_pickles(path, pickled(rows)),
            {"format": "sequence_file"},
        ),
        "table": lambda: (pa.table(columns), {}),
        "text": lambda: (
            write_text(path, lines),
            {"format": "text", "pattern": "(?P<x>[^,]*),(?P<species>.*)"},
        ),
        "xml": lambda: (write_text(path, f"<a>{tags}</a>"), {"row_tag": "r"}),
    }[form]()


def dask_frame(columns):
    pd = pytest.importorskip("pandas", reason="data frames need dask[dataframe]")
    frames = pytest.importorskip("dask.dataframe", reason="needs dask[dataframe]")
    texts = pd.array(columns["species"], "string[pyarrow]")
    return frames.from_pandas(pd.DataFrame(columns | {"species": texts}), npartitions=1)


def opened(data, how, **options):
    options = {"features": "x", "label": "species", **how, **options}
    return open_source(data, SourceOptions(**options))


def loaded(data, how, **options):
    (partition,) = opened(data, how, **options).partitions
    return partition.load()


@pytest.mark.parametrize("form", FORMS)
def test_texts_are_the_numbers_of_their_names(form, tmp_path):
    data, how = made(form, tmp_path, GOOD)
    batch = loaded(data, how, class_names=NAMES, n_classes=3)
    assert batch.labels.argmax(axis=1).tolist() == [2, 0, 1]
    assert batch.labels.sum(axis=1).tolist() == [1, 1, 1]


@pytest.mark.parametrize("form", FORMS)
def test_texts_that_are_no_names_are_unusable_rows(form, tmp_path):
    data, how = made(form, tmp_path, ROWS)
    how = {**how, "class_names": NAMES}
    batch = loaded(data, how, n_classes=3, handle_invalid="skip")
    assert batch.features[:, 0].tolist() == [1, 2, 5]
    with pytest.raises(DataError, match=r"must hold a .*(tulip|row 3 is null)"):
        loaded(data, how, n_classes=3)


@pytest.mark.parametrize(
    "form", ["parquet", "orc", "json", "avro", "pickle", "table", "dictionary"]
)
def test_without_names_they_are_refused_before_work(form, tmp_path):
    data, how = made(form, tmp_path, GOOD)
    with pytest.raises(
        ColumnError, match=r"species' must .*, the first is 'virginica'\. .*class_names"
    ):
        opened(data, how)


@pytest.mark.parametrize("form", ["csv", "xml", "text"])
def test_files_of_text_are_refused_when_they_are_looked_at(form, tmp_path):
    data, how = made(form, tmp_path, GOOD)
    with pytest.raises(ColumnError, match=r"got 'virginica' in .*class_names"):
        loaded(data, how)


@pytest.mark.parametrize("form", ["csv", "xml", "text"])
def test_numbers_stay_numbers_where_names_are_given(form, tmp_path):
    rows = [{"x": 1.0, "species": "2"}, {"x": 2.0, "species": "0"}]
    data, how = made(form, tmp_path, rows)
    batch = loaded(data, how, class_names=NAMES, n_classes=3)
    assert batch.labels.argmax(axis=1).tolist() == [2, 0]


def network():
    conf = MultiLayerConfiguration(
        layers=[Output(n_out=3, loss="mcxent")], input=FeedForward(size=1)
    )
    return MultiLayerNetwork(conf).init()


def test_a_network_takes_the_names_and_finds_them_again():
    table, found = pa.table(columns_of(GOOD)), network()
    options = SourceOptions(features="x", label="species", class_names=NAMES)
    found.fit(table, batch_size=2, options=options)
    assert found.class_names == NAMES
    evaluation = found.evaluate(table, features="x", label="species")
    assert evaluation.labels == list(NAMES)


def test_a_network_refuses_names_in_another_order():
    found = network()
    found.class_names = NAMES
    with pytest.raises(DataError, match="must have the number"):
        found.evaluate(
            pa.table(columns_of(GOOD)),
            features="x",
            label="species",
            class_names=NAMES[::-1],
        )


@pytest.mark.parametrize("names", ["ab", ["a", "a"], [1, 2], []])
def test_other_names_are_refused(names):
    with pytest.raises(OptionError, match="class_names must be "):
        SourceOptions(class_names=names)


def test_names_must_be_those_of_all_classes():
    with pytest.raises(OptionError, match="class_names must be n_classes=3 names, got"):
        SourceOptions(class_names=NAMES[:2], n_classes=3)


def test_texts_of_another_output_are_refused():
    table = pa.table({"x": [1.0], "a": [0], "b": ["u"]})
    options = SourceOptions(
        features={"in": "x"}, label={"a": "a", "b": "b"}, class_names=("u", "v")
    )
    with pytest.raises(ColumnError, match="column 'b' must hold numbers"):
        open_source(table, options)

"""Rows of the manifest's forms, as daskdl reads them wherever they lie."""

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np

from daskdl.data.filesystems import filesystem
from daskdl.data.sources.source import SourceOptions, open_source
from tests.unit.bridge.sample_forms import FORMS, checksums, columns_of

# Their features are numbers without holes: an example holds the row.
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
AS_PAIRS = ["sequence", "sequence_block", "pickle_tuples", "pickle_numpy"]
# A key holds what is stored, null included: all columns are the key, one of them the
# features too.
AS_KEYS = {
    "nulls_parquet": "id",
    "nulls_orc": "id",
    "nulls_json": "id",
    "nulls_csv": "id",
    "parquet_image": "png",
    "binaryfile_parquet": "png",
}
ALL_READ = [*AS_EXAMPLES, *AS_PAIRS, *AS_KEYS, "text", "image_folder"]

# Of files without types, keys are the texts or numbers that stand there.
CAST = {"int": int, "bigint": int, "double": float}


def check_rows(form: str, path: str) -> None:
    """Check that the rows of a form that lies at a path are the manifest's."""
    found, expected = checksums(rows_of(form, path)), FORMS[form]
    assert found["rows"] == expected["rows"]
    assert found["unordered"] == expected["unordered"]
    assert expected["ordered"] in (found["ordered"], None)


def rows_of(form: str, path: str) -> Iterator[list[Any]]:
    """Rebuild the manifest's rows from the examples of a form that lies at a path."""
    for batch in batches(path, options_of(form)):
        for number in range(batch.num_examples):
            yield _row(form, batch, number, path)


def batches(path: str, options: SourceOptions) -> Iterator[Any]:
    """Load all partitions as workers do, which get them in messages."""
    for partition in pickle.loads(pickle.dumps(open_source(path, options).partitions)):
        yield partition.load()


def options_of(form: str) -> SourceOptions:
    if form in AS_EXAMPLES:
        return _example_options(form)
    if form in AS_KEYS:
        # With the defaults Spark itself reads the empty texts that it wrote as null.
        csv = {"null_value": "null", "multi_line": True} if "csv" in form else {}
        key = tuple(columns_of(form))
        return SourceOptions(
            features=AS_KEYS[form], key=key, require_labels=False, **csv
        )
    if form == "text":
        pixels = [rf"(?P<p{i}>\d+)" for i in range(64)]
        features = tuple(f"p{i}" for i in range(64))
        pattern = rf"(?P<label>\d)\t{' '.join(pixels)}"
        return SourceOptions(
            format="text", pattern=pattern, features=features, label="label"
        )
    if form == "image_folder":
        return SourceOptions(key="path", require_success=False)
    if form == "pickle_tuples":
        return SourceOptions(features="_c2", label="_c1", key="_c0", dtype="float64")
    return SourceOptions(features="value", key="key", require_labels=False)


def _example_options(form: str) -> SourceOptions:
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


def _row(form: str, batch: Any, number: int, path: str) -> list[Any]:
    kinds = columns_of(form)
    features = batch.features[number].tolist()
    key = None if batch.keys is None else np.asarray(batch.keys).tolist()[number]
    if form in AS_KEYS:
        # ``strict`` refuses a key with another number of columns.
        pairs = zip(key, kinds.values(), strict=True)
        return [v if v is None else CAST.get(kind, _same)(v) for v, kind in pairs]
    if form == "image_folder":
        fs, place = filesystem(key)
        return [key[key.index(path) + len(path) + 1 :], fs.cat_file(place)]
    label = [] if batch.labels is None else [float(batch.labels[number, 0])]
    if form == "text":
        return [f"{int(label[0])}\t{' '.join(str(int(one)) for one in features)}"]
    if "BytesWritable" in kinds.values():
        features = bytes(map(int, features))
    values: dict[str, Any] = {"features": features, "value": features}
    singles = [name for name in kinds if name.startswith("p")]
    values |= dict(zip(singles, features, strict=False))
    values |= {"id": key, "key": key, "label": label[0] if label else None}
    whole = ("int", "bigint")
    return [int(values[n]) if kind in whole else values[n] for n, kind in kinds.items()]


def _same(value: Any) -> Any:
    return value

"""Rows of lists of several lengths, of which one is null, and what is made of them."""

from daskdl.data.sources.source import SourceOptions

UNEVEN = {"x": [[1.0], None, [2.0, 3.0]], "id": [1, 2, 3], "s": list("abc")}


def check_uneven_rows(sources, data):
    """Check that the options of tables are heeded."""
    options = SourceOptions(
        features="x",
        key="id",
        keep="s",
        align="end",
        handle_invalid="skip",
        require_labels=False,
    )
    source = sources.open(data, options)
    (rows,) = source.partitions[0].load_rows()
    assert (rows.keys.tolist(), rows.skipped) == ([1, 3], 1)
    assert rows.columns["s"].to_pylist() == ["a", "c"]

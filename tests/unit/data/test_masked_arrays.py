"""The mask of arrays of numpy.ma is never forgotten."""

import dask.array as da
import numpy as np
import pytest

import daskdl
from daskdl import DataSet, Evaluation, MultiDataSet
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.errors import DataError

ROWS = np.arange(12.0).reshape(4, 3) / 12
LABELS = np.array([0, 1, 1, 0])
MASKED = np.ma.masked_greater(ROWS, 0.8)
WHOLE = np.ma.array(ROWS)


def network():
    return daskdl.MultiLayerNetwork(
        daskdl.MultiLayerConfiguration(
            input=daskdl.FeedForward(size=3), layers=[daskdl.Output(n_out=2)]
        )
    )


CALLS = {
    "DataSet": lambda rows: DataSet(rows),
    "labels": lambda rows: DataSet(ROWS, rows),
    "features_mask": lambda rows: DataSet(ROWS, None, rows),
    "labels_mask": lambda rows: DataSet(ROWS, ROWS, None, rows),
    "MultiDataSet": lambda rows: MultiDataSet([rows]),
    "output": lambda rows: network().output(rows),
    "list of rows": lambda rows: network().output(list(rows)),
    "fit": lambda rows: network().fit((rows, LABELS), batch_size=2),
    "daskdl.fit": lambda rows: daskdl.fit(network(), (rows, LABELS), batch_size=2),
    "evaluate": lambda rows: network().evaluate((rows, LABELS)),
    "evaluation": lambda rows: Evaluation().eval(ROWS, rows),
    "evaluation, lazy": lambda rows: Evaluation().eval(ROWS, da.from_array(rows)),
    "lazy": lambda rows: network().output(da.from_array(rows, chunks=2)),
    "chunks": lambda rows: daskdl.fit(
        network(),
        (da.from_array(rows, chunks=(2, 3)), da.from_array(LABELS, chunks=2)),
        batch_size=2,
    ),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_masked_entries_are_refused(call):
    with pytest.raises(DataError, match=r"must have no masked entries, got \d .* Fill"):
        call(MASKED)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_masked_array_without_masked_entries_is_plain(call):
    call(WHOLE)


def test_message_counts_them():
    with pytest.raises(DataError, match=r"labels must have no masked .* got 2 of 12"):
        DataSet(ROWS, MASKED)


def test_keys_must_not_be_masked():
    with pytest.raises(
        DataError, match=r"keys must have no masked entries, got 1 of 4"
    ):
        DataSet(ROWS, keys=np.ma.masked_equal([1, 2, 3, 4], 3))


def test_labels_of_a_lazy_pair_must_not_be_masked():
    labels = da.ma.masked_equal(da.from_array(LABELS, chunks=2), 1)
    source = open_source((da.from_array(ROWS, chunks=(2, 3)), labels), SourceOptions())
    with pytest.raises(
        DataError, match=r"dask chunk 1: column 'label' must have no ma"
    ):
        source.partitions[1].load()


def test_what_xarray_makes_of_masks_is_refused():
    xr = pytest.importorskip("xarray")
    ds = xr.Dataset({"x": (("n", "f"), MASKED), "y": ("n", LABELS)})
    options = SourceOptions(features="x", label="y")
    with pytest.raises(DataError, match=r"'x' must hold finite numbers, got nan"):
        daskdl.fit(network(), ds, options=options, batch_size=2)

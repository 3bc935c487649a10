"""Whatever form the examples have, the same network comes out."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import daskdl as dl
from daskdl.errors import ColumnError, OptionError

COLUMNS = {"features": [f"f{i}" for i in range(5)], "label": "label"}
HOW = {"epochs": 2, "batch_size": 10, "shuffle": True}


def table_of(data):
    columns = dict(zip(COLUMNS["features"], data.features.T, strict=True))
    return pa.table({**columns, "label": data.labels})


def path_of(data, folder):
    path = folder / "examples.parquet"
    pq.write_table(table_of(data), path)
    return str(path)


def rows_of(data):
    return np.eye(3, dtype=np.float32)[data.labels]


# From DataSet and a folder to what is given, and the options that go with it.
FORMS = {
    "pair": lambda data, _: ((data.features, rows_of(data)), {}),
    "numbers of classes": lambda data, _: ((data.features, data.labels), {}),
    "lists": lambda data, _: ((data.features.tolist(), data.labels.tolist()), {}),
    "pairs": lambda data, _: (
        [(part.features, part.labels) for part in data.batches(10)],
        {},
    ),
    "data sets": lambda data, _: (list(data.batches(10)), {}),
    "Arrow": lambda data, _: (table_of(data), COLUMNS),
    "record batch": lambda data, _: (table_of(data).to_batches()[0], COLUMNS),
    "path": lambda data, folder: (path_of(data, folder), COLUMNS),
    "pathlib": lambda data, folder: ([path_of(data, folder)], COLUMNS),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_trains_the_same_network(network, examples, tmp_path, form):
    data = examples(40)
    given, options = FORMS[form](data, tmp_path)
    alone = network.clone().fit(data, **HOW)
    network.fit(given, **HOW, **options)
    np.testing.assert_array_equal(network.params, alone.params)
    told = network.evaluate(given, **options)
    assert told.stats() == alone.evaluate(data).stats()


def test_a_pandas_data_frame_trains_the_same_network(network, examples):
    pytest.importorskip("pandas")
    data = examples(40)
    alone = network.clone().fit(data, **HOW)
    frame = table_of(data).to_pandas()
    frame.index += 7  # is no column
    dl.fit(network, frame, **HOW, **COLUMNS)
    np.testing.assert_array_equal(network.params, alone.params)


def test_a_preprocessor_is_taken_for_data_in_memory(network, examples):
    scaled, data = network.clone(), examples(20)
    network.fit(data, batch_size=10, pre_processor=dl.ImagePreProcessingScaler())
    scaled.fit((data.features / 255, data.labels), batch_size=10)
    np.testing.assert_allclose(network.params, scaled.params, rtol=1e-5)


def test_shuffled_epochs_go_on_where_they_ended(network, examples):
    data = examples(40)
    once = network.clone().fit(data, epochs=2, batch_size=10, shuffle=True)
    for _ in range(2):
        network.fit(data, batch_size=10, shuffle=True)
    np.testing.assert_array_equal(network.params, once.params)


def test_a_list_is_cut_anew_as_a_whole(network, examples):
    data = examples(24)
    alone = network.clone().fit(data, batch_size=10)
    network.fit([data.slice(0, 12), data.slice(12, 24)], batch_size=10)
    np.testing.assert_array_equal(network.params, alone.params)


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ({"epoch": 3}, "Did you mean 'epochs'"),
        ({"validation_data": 1}, "EvaluativeListener"),
        ({"training_hooks": []}, "They are those of a training master, which Dask"),
        ({"training_master": None}, "DaskMultiLayer and DaskComputationGraph take it"),
        ({"options": {"label": "y"}}, "options must be a SourceOptions, got dict"),
        ({"shuffle": "no"}, "shuffle must be True or False"),
    ],
)
def test_arguments_that_are_none_are_named(network, examples, wrong, hint):
    with pytest.raises(OptionError, match=hint):
        network.fit(examples(5), batch_size=5, **wrong)


def test_what_yields_minibatches_keeps_its_order(network, examples):
    with pytest.raises(OptionError, match="shuffle must be False for what yields"):
        network.fit(examples(20).batches(10), shuffle=True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label": "lable"}, "'label'"),
        ({"features": ["f0", "text"]}, "column 'text'"),
        ({"features": ["f0", "holes"]}, "row 1"),
    ],
)
def test_columns_of_a_table_are_checked_first(network, examples, changes, message):
    table = table_of(examples(3))
    table = table.append_column("text", pa.array(["a", "b", "c"]))
    table = table.append_column("holes", pa.array([0.5, None, 1.5]))
    with pytest.raises((ColumnError, dl.errors.DataError), match=message):
        network.fit(table, batch_size=2, **{**COLUMNS, **changes})
    assert network.iteration_count == 0


def test_an_option_that_is_none_is_refused(network, examples):
    with pytest.raises(OptionError, match=r"got 'lable'. Did you mean 'label'"):
        network.fit(table_of(examples(5)), batch_size=5, lable="label")


def test_data_in_memory_have_no_columns(network, examples):
    with pytest.raises(OptionError, match="label must be None for data in memory"):
        network.fit(examples(5), label="label")

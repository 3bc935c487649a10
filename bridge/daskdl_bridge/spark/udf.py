"""Predictions inside Spark's executors, for batch and streaming jobs without Dask."""

import hashlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from daskdl.cluster.inference import outputs_of
from daskdl.cluster.prediction_columns import classes_of
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.errors import DataError, OptionError
from daskdl.formats.load import load
from daskdl.nn.fitting.preparation import class_axes, options_for
from daskdl.nn.loss_evaluations import INDEPENDENT_LOSSES
from daskdl.option_types import with_checked_types

if TYPE_CHECKING:
    from daskdl.nn.network import Network

__all__ = ["is_binary", "predict_udf", "saved_bytes", "udf_of_bytes"]

_BATCH = 1024


@with_checked_types
def predict_udf(
    path_or_url: str | os.PathLike[str], *, batch_size: int = _BATCH
) -> Any:
    """Return a pandas UDF that predicts with a saved network.

    Each Python worker of Spark loads the network once. Executors need daskdl and
    pandas.

    Parameters
    ----------
    path_or_url : str or path
        A file that the executors see, by daskdl or Deeplearning4j.
    batch_size : int
        Examples of one forward pass; affects speed only.

    Returns
    -------
    pandas UDF
        Of the columns with the features: one of arrays, or numbers side by side;
        vectors go through ``explode(array(vector_to_array(...)))``, since Spark fails
        on those that it has just read. It returns a struct of ``prediction`` (double:
        the class, or the value), and of ``probability`` (array of double: those of the
        classes, or all outputs, one behind the other).

    Raises
    ------
    SourceNotFoundError, FormatError
        If this process does not find the network there, or cannot read it.

    Examples
    --------
    With ``predict = daskdl.spark.predict_udf("hdfs:///models/digits.safetensors")``,
    ``frame.withColumn("scored", predict("features"))``.
    """
    _check_one_output(load(os.fspath(path_or_url)))
    return _udf(_network_at, str(path_or_url), batch_size)


def udf_of_bytes(saved: bytes, names: Sequence[str], *, batch_size: int) -> Any:
    """Return the UDF of `predict_udf` for a network that travels with it.

    Parameters
    ----------
    saved : bytes
        Of `saved_bytes`.
    names : sequence of str
        Of the columns, for messages.
    batch_size : int
    """
    return _udf(_network_of_bytes, saved, batch_size, tuple(names))


def saved_bytes(network: "Network[Any]") -> bytes:
    """Return the bytes of a file of a network."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "network.safetensors"
        network.save(os.fspath(path))
        return path.read_bytes()


def _udf(
    find: Any, where: Any, batch_size: int, names: tuple[str, ...] | None = None
) -> Any:
    import pandas as pd
    from pyspark.sql.functions import pandas_udf

    def predict(
        batches: Iterator[tuple[pd.Series, ...]],
    ) -> Iterator[pd.DataFrame]:
        network = find(where)
        for given in batches:
            # A single column comes without a tuple around it.
            columns = given if isinstance(given, tuple) else (given,)
            named = names or [f"column {number}" for number in range(len(columns))]
            by_name = dict(zip(named, columns, strict=True))
            with _telling_of_batches(len(columns[0])):
                predicted = _predicted(network, by_name, batch_size)
            yield predicted

    return pandas_udf(predict, "prediction double, probability array<double>")


@contextmanager
def _telling_of_batches(n_rows: int) -> Iterator[None]:
    """Say in messages what their rows are counted in: Spark hands over some at once."""
    try:
        yield
    except DataError as error:
        raise DataError(
            f"predict_udf: {error} Rows are counted from 0 within a batch of "
            f"{n_rows} rows, as Spark hands them over."
        ) from error


def _predicted(network: Any, columns: dict[str, Any], batch_size: int) -> Any:
    """Return the predictions of rows as a pandas.DataFrame."""
    import pandas as pd
    import pyarrow as pa

    table = pa.table({name: _arrow(column) for name, column in columns.items()})
    wanted = SourceOptions(features=tuple(columns), require_labels=False)
    source = open_source(table, options_for(network, wanted, table))
    predictions: list[Any] = []
    probabilities: list[Any] = []
    for partition in source.partitions:
        for batch in partition.load().batches(batch_size):
            (output,) = outputs_of(network, batch)
            predicted, told = _figures(network, output)
            predictions += predicted.tolist()
            probabilities += told.tolist()
    return pd.DataFrame({"prediction": predictions, "probability": probabilities})


def _figures(network: Any, output: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the classes or values of rows, and their probabilities or outputs."""
    flat = output.reshape(len(output), -1).astype(np.float64)
    (axis,) = class_axes(network)
    if axis is not None:
        return classes_of(output, axis), flat
    if is_binary(network):
        return (flat[:, 0] > 0.5).astype(np.float64), np.hstack([1 - flat, flat])
    return flat[:, 0], flat


def is_binary(network: "Network[Any]") -> bool:
    """Whether the only output is the probability of the second of two classes."""
    is_independent = network.output_losses[0] in INDEPENDENT_LOSSES
    return is_independent and network.output_layer_n_out[0] == 1


def _arrow(column: Any) -> Any:
    """Return a pandas column as Arrow has it; Spark gives structs as a DataFrame."""
    import pyarrow as pa

    if column.ndim == 1:
        return pa.array(column)
    return pa.Table.from_pandas(column, preserve_index=False).to_struct_array()


def _check_one_output(network: Any) -> None:
    if len(network.outputs) != 1 or len(network.inputs) != 1:
        raise OptionError(
            "predict_udf: the network must have one input and one output, got "
            f"{len(network.inputs)} and {len(network.outputs)}. Use "
            "feed_forward_with_key."
        )


@lru_cache(maxsize=4)
def _network_at(path_or_url: str) -> Any:
    network = load(path_or_url)
    network.threads = 1
    return network


@lru_cache(maxsize=4)
def _network_of_bytes(saved: bytes) -> Any:
    name = f"{hashlib.sha256(saved).hexdigest()}.safetensors"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(saved)
        return _network_at.__wrapped__(os.fspath(path))

"""Truncated backpropagation through time: series in segments, states carried over.

References
----------
DL4J, ``MultiLayerNetwork.doTruncatedBPTT`` and ``ComputationGraph.doTruncatedBPTT``.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.errors import ShapeError
from daskdl.nn.batches import Batch, Port, as_arrays, time_steps
from daskdl.nn.conf.input_type import Recurrent
from daskdl.nn.layers.layer import Layer


@contextmanager
def carried_state(layers: Sequence[Layer[Any]]) -> Iterator[None]:
    """Let recurrent layers carry their state on, from zeros; then put back what was."""
    before = [(layer, layer.state, layer.carries_state) for layer in layers]
    for layer in layers:
        layer.state, layer.carries_state = None, True
    try:
        yield
    finally:
        for layer, state, carries_state in before:
            layer.state, layer.carries_state = state, carries_state


def time_segments(
    batch: Batch, length: int, inputs: Sequence[Port], outputs: Sequence[Port]
) -> Iterator[Batch]:
    """Yield stretches of `length` time steps of a minibatch; the last may be shorter.

    Parameters
    ----------
    batch : DataSet or MultiDataSet
        Checked already. Arrays that are no time series are in every segment as they
        are.
    length : int
        Time steps.
    inputs, outputs : sequence of Port
        Say which axis is the time.

    Raises
    ------
    ShapeError
        If labels are no time series, or series are of different lengths.
    """
    arrays = as_arrays("truncated backpropagation", batch)
    for port in outputs:
        if not isinstance(port.type, Recurrent):
            raise ShapeError(
                f"{port.who}: labels must be time series for backprop_type "
                f"'truncated_bptt', got {port.type}. Use 'standard'."
            )
    n_steps = {
        time_steps(port.type, array)
        for port, array in [
            *zip(inputs, arrays.features, strict=True),
            *zip(outputs, arrays.labels, strict=True),
        ]
        if isinstance(port.type, Recurrent)
    }
    if len(n_steps) != 1:
        raise ShapeError(
            "truncated backpropagation: all time series must have one length, got "
            f"{sorted(n_steps)}."
        )
    (total,) = n_steps
    for start in range(0, total, length):
        part = slice(start, min(start + length, total))
        yield _batch(
            [_cut(a, p, part) for a, p in zip(arrays.features, inputs, strict=True)],
            [_cut(a, p, part) for a, p in zip(arrays.labels, outputs, strict=True)],
            [
                _cut_mask(m, p, part)
                for m, p in zip(arrays.features_masks, inputs, strict=True)
            ],
            [
                _cut_mask(m, p, part)
                for m, p in zip(arrays.labels_masks, outputs, strict=True)
            ],
        )


def _batch(
    features: list[Any], labels: list[Any], masks: list[Any], labels_masks: list[Any]
) -> Batch:
    if len(features) == 1 and len(labels) == 1:
        return DataSet(features[0], labels[0], masks[0], labels_masks[0])
    return MultiDataSet(features, labels, masks, labels_masks)


def _cut(array: Any, port: Port, part: slice) -> Any:
    if not isinstance(port.type, Recurrent):
        return array
    return array[:, :, part] if port.type.data_format == "NCW" else array[:, part]


def _cut_mask(mask: Any, port: Port, part: slice) -> Any:
    if mask is None or not isinstance(port.type, Recurrent):
        return mask
    return _cut(mask, port, part) if mask.ndim == 3 else mask[:, part]

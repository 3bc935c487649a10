"""Truncated backpropagation through time: series in segments, states carried over.

References
----------
DL4J, ``MultiLayerNetwork.doTruncatedBPTT`` and ``ComputationGraph.doTruncatedBPTT``.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.errors import ShapeError
from daskdl.nn.batches import Arrays, ArraySpec, Batch, time_steps
from daskdl.nn.conf.input_type import Recurrent
from daskdl.nn.conf.network import (
    ComputationGraphConfiguration,
    MultiLayerConfiguration,
)
from daskdl.nn.run import Run


@contextmanager
def carrying(runs: Sequence[Run], *, back_length: int | None = None) -> Iterator[None]:
    """Let recurrent layers begin with the state that they have, and keep their last.

    After an error they have the states that they began with.

    Parameters
    ----------
    runs : sequence of Run
        Of the layers.
    back_length : int, optional
        How many time steps gradients flow back at most; None is all.
    """
    before = [(run.carries_state, run.back_length) for run in runs]
    states = [run.state for run in runs]
    for run in runs:
        run.carries_state, run.back_length = True, back_length
    try:
        yield
    except BaseException:
        # Some may have gone on, others not: the stretch may be given again.
        for run, state in zip(runs, states, strict=True):
            run.state = state
        raise
    finally:
        for run, kept in zip(runs, before, strict=True):
            run.carries_state, run.back_length = kept


@contextmanager
def carrying_anew(
    runs: Sequence[Run], *, back_length: int | None = None
) -> Iterator[None]:
    """Let recurrent layers carry their state over, from zeros; forget it at the end."""
    forget(runs)
    try:
        with carrying(runs, back_length=back_length):
            yield
    finally:
        forget(runs)


def truncated(
    arrays: Arrays,
    inputs: Sequence[ArraySpec],
    labels: Sequence[ArraySpec],
    runs: Sequence[Run],
    conf: MultiLayerConfiguration | ComputationGraphConfiguration,
) -> Generator[Batch, None, None]:
    """Yield the stretches of a minibatch; layers carry their state to the next.

    Parameters
    ----------
    arrays, inputs, labels
        As of :func:`time_segments`.
    runs : sequence of Run
        Of all layers of the network.
    conf : MultiLayerConfiguration or ComputationGraphConfiguration
        Says how long they are, and how many steps gradients flow back.
    """
    forgetful = [run for run in runs if run.forgets_between_segments]
    is_sequence = isinstance(conf, MultiLayerConfiguration)
    with carrying_anew(runs, back_length=conf.back_length):
        for segment in time_segments(
            arrays, conf.tbptt_fwd_length, inputs, labels, only_series=is_sequence
        ):
            forget(forgetful)
            yield segment


def forget(runs: Iterable[Run]) -> None:
    """Let recurrent layers begin with zeros again."""
    for run in runs:
        run.state = None


def time_segments(
    arrays: Arrays,
    length: int,
    inputs: Sequence[ArraySpec],
    labels: Sequence[ArraySpec],
    *,
    only_series: bool,
) -> Generator[Batch, None, None]:
    """Yield stretches of `length` time steps of a minibatch; the last may be shorter.

    Parameters
    ----------
    arrays : Arrays
        Of the minibatch, checked already. What is no time series is in every segment
        as it is.
    length : int
        Time steps.
    inputs, labels : sequence of ArraySpec
        Say which axis is the time.
    only_series : bool
        Whether labels that are no time series are refused, as a sequence of layers
        has no use for them.

    Raises
    ------
    ShapeError
        If `only_series` and labels are none, or if series are of different lengths.
    """
    if only_series:
        _check_series(labels)
    total = _common_length(arrays, inputs, labels)
    for start in range(0, total, length):
        part = slice(start, min(start + length, total))
        yield _batch(
            [_cut(a, p, part) for a, p in zip(arrays.features, inputs, strict=True)],
            [_cut(a, p, part) for a, p in zip(arrays.labels, labels, strict=True)],
            [
                _cut_mask(m, p, part)
                for m, p in zip(arrays.features_masks, inputs, strict=True)
            ],
            [
                _cut_mask(m, p, part)
                for m, p in zip(arrays.labels_masks, labels, strict=True)
            ],
        )


def _check_series(labels: Sequence[ArraySpec]) -> None:
    for port in labels:
        if not isinstance(port.type, Recurrent):
            raise ShapeError(
                f"{port.who}: labels must be time series for backprop_type "
                f"'truncated_bptt', got {port.type}. Use 'standard'."
            )


def _common_length(
    arrays: Arrays, inputs: Sequence[ArraySpec], labels: Sequence[ArraySpec]
) -> int:
    lengths = {
        time_steps(port.type, array)
        for port, array in [
            *zip(inputs, arrays.features, strict=True),
            *zip(labels, arrays.labels, strict=True),
        ]
        if isinstance(port.type, Recurrent)
    }
    if len(lengths) != 1:
        raise ShapeError(
            "truncated backpropagation: all time series must have one length, got "
            f"{sorted(lengths)}."
        )
    return lengths.pop()


def _batch(
    features: list[Any], labels: list[Any], masks: list[Any], labels_masks: list[Any]
) -> Batch:
    if len(features) == 1 and len(labels) == 1:
        return DataSet(features[0], labels[0], masks[0], labels_masks[0])
    return MultiDataSet(features, labels, masks, labels_masks)


def _cut(array: Any, port: ArraySpec, part: slice) -> Any:
    if not isinstance(port.type, Recurrent):
        return array
    return array[:, :, part] if port.type.is_channels_first else array[:, part]


def _cut_mask(mask: Any, port: ArraySpec, part: slice) -> Any:
    if mask is None or not isinstance(port.type, Recurrent):
        return mask
    return _cut(mask, port, part) if mask.ndim == 3 else mask[:, part]

"""Prediction of time series stretch by stretch, with the states kept in between."""

from typing import Any

from daskdl.data.batch_arrays import as_batch_array
from daskdl.nn.conf.input_type import InputType, Recurrent
from daskdl.nn.data_converter import DataConverter, given_features
from daskdl.nn.program import Program
from daskdl.nn.tbptt import carrying


def next_steps(
    who: str, program: Program, converter: DataConverter, features: Any
) -> list[Any]:
    """Predict the next stretch; see :meth:`daskdl.nn.network.Network.rnn_time_step`.

    Returns
    -------
    list of ndarray of shape (batch, ...)
        One an output.
    """
    given = [
        as_batch_array(who, "features", array)
        for array in given_features(features, converter.inputs)
    ]
    kinds = [port.type for port in converter.inputs]
    stretches = [_with_time(*pair) for pair in zip(given, kinds, strict=False)]
    # More arrays than inputs are refused below.
    stretches += given[len(kinds) :]
    are_steps = all(array.ndim == 2 for array in given) and any(
        array.ndim == 3 for array in stretches
    )
    with carrying(program.runs):
        arrays = converter.unlabelled(stretches, any_length=True)
        entered = converter.features(arrays)
        inside = program.forward(*entered, training=False, rng=None)
        results = converter.to_data_format(converter.in_units_of_data(inside))
    if are_steps:
        results = [
            _without_time(array, port.type)
            for array, port in zip(results, converter.outputs, strict=True)
        ]
    return results


def _with_time(array: Any, input_type: InputType) -> Any:
    """Return one step (batch, features) as a series of one, and the rest as it is."""
    if not isinstance(input_type, Recurrent) or array.ndim != 2:
        return array
    return array[:, :, None] if input_type.is_channels_first else array[:, None]


def _without_time(array: Any, output_type: InputType) -> Any:
    """Return a series of one step as that step."""
    if not isinstance(output_type, Recurrent):
        return array
    return array[:, :, 0] if output_type.is_channels_first else array[:, 0]

"""Prediction of time series stretch by stretch, with the states kept in between."""

from typing import Any

from daskdl.data.batch_arrays import as_batch_array
from daskdl.nn.border import given_features
from daskdl.nn.conf.axes import is_channels_first
from daskdl.nn.conf.input_type import InputType, Recurrent
from daskdl.nn.normalizing import NormalizerChoice
from daskdl.nn.step import StepNetwork
from daskdl.nn.structure import Conf
from daskdl.nn.tbptt import carrying, forget


class TimeSteps(StepNetwork[Conf]):
    """A network whose recurrent layers can go on where they stopped."""

    def rnn_time_step(
        self, features: Any, *, normalizer: NormalizerChoice = "own"
    ) -> Any:
        """Predict the next stretch of time series, in inference mode.

        Recurrent layers begin with the state that the last call left them, or with
        zeros after :meth:`rnn_clear_previous_state` and after training with truncated
        backpropagation through time. States are not saved with the network.

        Parameters
        ----------
        features : ndarray, or list of them for several inputs
            In the data format of the inputs, with any number of time steps. For a
            single step the axis of time may be left out: (batch, features).
        normalizer : Normalizer, None or "own"
            None for features that are normalized already.

        Returns
        -------
        ndarray, or list of them for several outputs
            New arrays in the data format; without the axis of time where no features
            had one.

        Raises
        ------
        ShapeError
            If features do not fit, or there are more or fewer series than before.
        OptionError
            If a layer reads series from both ends.

        References
        ----------
        DL4J, ``MultiLayerNetwork.rnnTimeStep``.
        """
        given = [
            as_batch_array(type(self).__name__, "features", array)
            for array in given_features(features, self.inputs)
        ]
        kinds = self.input_types
        stretches = [_with_time(*pair) for pair in zip(given, kinds, strict=False)]
        # More arrays than inputs are refused below.
        stretches += given[len(kinds) :]
        are_steps = all(array.ndim == 2 for array in given) and any(
            array.ndim == 3 for array in stretches
        )
        with carrying(self._layers), self._border.using(normalizer):
            arrays = self._border.unlabelled(stretches, any_length=True)
            entered = self._border.features(arrays)
            outputs = self._forward(*entered, training=False, rng=None)
            outputs = self._border.in_units_of_data(outputs)
        results = self._border.leave(outputs)
        if are_steps:
            results = [
                _without_time(array, port.type)
                for array, port in zip(results, self.outputs, strict=True)
            ]
        return results[0] if len(results) == 1 else results

    def rnn_clear_previous_state(self) -> None:
        """Let the next :meth:`rnn_time_step` begin with zeros."""
        forget(self._layers)


def _with_time(array: Any, input_type: InputType) -> Any:
    """Return one step (batch, features) as a series of one, and the rest as it is."""
    if not isinstance(input_type, Recurrent) or array.ndim != 2:
        return array
    return array[:, :, None] if is_channels_first(input_type) else array[:, None]


def _without_time(array: Any, output_type: InputType) -> Any:
    """Return a series of one step as that step."""
    if not isinstance(output_type, Recurrent):
        return array
    return array[:, :, 0] if is_channels_first(output_type) else array[:, 0]

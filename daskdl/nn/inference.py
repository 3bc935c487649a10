"""Predictions: features are checked, go through the network, and outputs come back."""

from typing import Any

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.batches import Arrays
from daskdl.nn.data_converter import DataConverter
from daskdl.nn.divergence import numbers_may_overflow
from daskdl.nn.joint_passes import JointPasses

__all__ = ["Inference"]


class Inference:
    """The part of a network that predicts, in steps.

    Parameters
    ----------
    who : str
        The network's class, for messages.
    converter : DataConverter
        Of the network.
    passes : JointPasses
        Of the network.

    Notes
    -----
    :meth:`fitting` looks at nothing that changes. All else is for the thread that has
    the network's turn: inside of its ``normalizing``.
    """

    def __init__(self, who: str, converter: DataConverter, passes: JointPasses) -> None:
        self._who = who
        self._converter, self._passes = converter, passes

    def fitting(self, features: Any, features_mask: Any) -> Arrays:
        """Return features and masks in canonical form, or refuse what does not fit.

        Parameters and errors are those of
        :meth:`~daskdl.nn.data_converter.DataConverter.unlabelled`. Numbers are not
        looked at.
        """
        return self._converter.unlabelled(features, features_mask, numbers=False)

    def check(self, arrays: Arrays) -> None:
        """Refuse numbers that are not finite, or of no row that a layer could look up.

        Raises
        ------
        DataError
            With array, row and place.
        """
        normalizer = self._converter.normalizer
        self._converter.checks.check_numbers(self._who, arrays, normalizer)
        self._converter.checks.check_lookups(self._who, arrays, normalizer)

    def inside(self, arrays: Arrays) -> list[FloatArray]:
        """Return what is predicted, inside still, but in the units of the data."""
        with numbers_may_overflow():
            results = self._passes.outputs(*self._converter.features(arrays))
        return self._converter.in_units_of_data(results)

    def outputs(self, arrays: Arrays, labels_mask: Any = None) -> list[FloatArray]:
        """Return what is predicted, in new arrays in the data format.

        Parameters
        ----------
        arrays : Arrays
            Checked.
        labels_mask : ndarray, or list of (ndarray or None), optional
            What it drops comes out as 0.

        Raises
        ------
        ShapeError, DataError
            If `labels_mask` does not fit, or does not hold finite numbers.
        """
        results = self.inside(arrays)
        if labels_mask is not None:
            masks = self._converter.masks_of(results, labels_mask)
            results = self._passes.program.masked_outputs(results, masks)
        # New arrays: what layers hold is written anew in the next turn.
        return self._converter.to_data_format(results)

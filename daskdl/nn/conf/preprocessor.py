"""What the configurations of all preprocessors share."""

from typing import Annotated, ClassVar

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.kinds import PREPROCESSOR_KINDS, AnyOf
from daskdl.nn.conf.values import Conf
from daskdl.nn.run import Reshaped, Run


class PreprocessorConf(Conf):
    """What reshapes the input of a layer; it has no parameters."""

    # Whether threads may have a part of the examples each; see :class:`LayerConf`.
    can_be_cut: ClassVar[bool] = False

    type: str

    def output_type(self, input_type: InputType) -> InputType:
        """Return what comes out for `input_type`; refuse what cannot go in."""
        raise TypeError(f"{type(self).__name__} does not say what comes out of it.")

    def forward(self, run: Run, x: FloatArray) -> Reshaped:
        """Return the input in its new shape, and the function that undoes it.

        Parameters
        ----------
        run : Run
            Number of examples, buffers.
        x : ndarray of shape (rows, *input_type.shape)
            Not to be changed.

        Returns
        -------
        output : ndarray of shape (rows, *output_type.shape), same dtype
            A buffer, or a view of `x`. The number of rows changes where time steps
            become rows, or rows time steps.
        backward : function of (gradient in the output)
            Returns that in `x`: a buffer, or a view of what it was given.
        """
        raise TypeError(f"{type(self).__name__}: must have a method forward(run, x).")

    def feed_forward_mask(self, run: Run, mask: FloatArray) -> FloatArray | None:
        """Return the mask that fits the new shape: the same, unless overridden.

        Parameters
        ----------
        run : Run
        mask : ndarray of shape (rows, time) or (rows, 1)
            1 keeps, 0 drops. Not to be changed; where there is none, nobody asks.

        Returns
        -------
        ndarray of shape (rows of the output, time) or (rows of the output, 1), or None
            None masks nothing.
        """
        return mask


AnyPreprocessor = Annotated[PreprocessorConf, AnyOf(PREPROCESSOR_KINDS)]

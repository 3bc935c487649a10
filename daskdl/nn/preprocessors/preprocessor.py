"""A preprocessor in its place: reshapes the input of a layer, and its gradient."""

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.errors import ShapeError
from daskdl.nn.conf.axes import fits
from daskdl.nn.conf.input_type import InputType, Recurrent
from daskdl.nn.conf.preprocessor import PreprocessorConf
from daskdl.nn.run import Run


class Preprocessor:
    """A configured preprocessor at its place in front of a layer.

    Parameters
    ----------
    conf : PreprocessorConf
        The configuration.
    input_type : InputType
        What it gets.
    name : str
        Of the layer behind it: its buffers are keyed by it.
    workspace : Workspace
        Lends all its arrays.

    Raises
    ------
    OptionError
        If the input does not fit.
    """

    def __init__(
        self,
        conf: PreprocessorConf,
        input_type: InputType,
        name: str,
        workspace: Workspace,
    ) -> None:
        self.output_type = conf.output_type(input_type)
        self._conf = conf
        self._run = run_of(conf, input_type, name, workspace)

    def forward(self, x: FloatArray, *, batch_size: int) -> FloatArray:
        """Return the input in its new shape; see :meth:`PreprocessorConf.forward`.

        Parameters
        ----------
        x : ndarray of shape (rows, *input_type.shape)
            Not changed.
        batch_size : int
            Examples of the minibatch: rows may be their time steps.
        """
        check_input(self._run, x)
        self._run.batch_size = batch_size
        output, self._backward = self._conf.forward(self._run, x)
        return output

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Return the gradient, (rows, ...), in the shape that the input had."""
        return self._backward(grad_out)

    def feed_forward_mask(
        self, mask: FloatArray | None, *, batch_size: int
    ) -> FloatArray | None:
        """Return the mask, (rows, time) or (rows, 1), that fits the new shape."""
        if mask is None:
            return None
        self._run.batch_size = batch_size
        return self._conf.feed_forward_mask(self._run, mask)


def run_of(
    conf: PreprocessorConf, input_type: InputType, name: str, workspace: Workspace
) -> Run:
    """Return the run of a preprocessor; arguments as of :class:`Preprocessor`."""
    return Run(
        {},
        {},
        input_type=input_type,
        who=f"{type(conf).__name__} {name!r}",
        name=name,
        workspace=workspace,
        part="preprocessor",
    )


def check_input(run: Run, x: FloatArray) -> None:
    """Refuse an array that has not the input's shape, (rows, *input_type.shape)."""
    # Series may be of any length.
    expected = run.input_type.shape
    if isinstance(run.input_type, Recurrent):
        expected = (None, run.input_type.size)
    if not fits(expected, x):
        axes = ", ".join("any" if n is None else str(n) for n in expected)
        raise ShapeError(f"{run.who}: x must have shape (rows, {axes}), got {x.shape}.")

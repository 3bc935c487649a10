"""A layer in one class: options, shapes, parameters, forward and backward.

The class is a frozen value like every configuration and holds no state; what it works
with is the argument `run`. `forward` returns the output and the function that takes the
gradient back, and that closes over what it needs.
"""

from collections.abc import Callable
from typing import ClassVar

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.options import TrainingOptions
from daskdl.nn.conf.values import Real
from daskdl.nn.conf.weight_inits import AnyWeightInit
from daskdl.nn.lent_arrays import (
    backward_of,
    check_made,
    forward_of,
    read_only,
    writable,
)
from daskdl.nn.run import LayerPass, Run


class LayerDefinition(TrainingOptions, LayerConf):
    """A layer of one's own: derive from it, and register it with :func:`daskdl.layer`.

    Options are annotated fields. Arrays are of shape (batch, features), series (batch,
    time, features), images (batch, height, width, channels), whatever the data format
    of the network's input.

    Parameters
    ----------
    weight_init : str or weight init, optional
        How parameters of the role ``"weight"`` are drawn.
    bias_init, gain_init : float, optional
        What parameters of the roles ``"bias"`` and ``"gain"`` begin with.

    Examples
    --------
    >>> import daskdl
    >>> @daskdl.layer("doubled_example")
    ... class Doubled(daskdl.LayerDefinition):
    ...     def forward(self, run, x):
    ...         return 2 * x, lambda grad: 2 * grad
    >>> Doubled()
    Doubled()
    """

    # Whether training needs random numbers beside those of dropout.
    draws: ClassVar[bool] = False
    # Whether threads may work on a part of the examples each, all at one time: nobody
    # knows what the code of others does.
    can_be_cut: ClassVar[bool] = False

    # That under which the class is registered.
    type: str = ""
    weight_init: AnyWeightInit | None = None
    bias_init: Real | None = None
    gain_init: Real | None = None

    def output_type(self, input_type: InputType) -> InputType:
        """Return what comes out for `input_type`: the same, unless overridden."""
        return input_type

    @property
    def draws_random_numbers(self) -> bool:
        """True if training needs random numbers."""
        return self.draws or super().draws_random_numbers


def checked_forward(conf: LayerConf) -> Callable[[Run, FloatArray], LayerPass]:
    """Return the forward method of a layer that somebody else wrote, looked at.

    Its output and the gradient that it sends back must be of the shapes and dtypes that
    it says.
    """

    def forward(run: Run, x: FloatArray) -> LayerPass:
        who, lent = run.who, read_only(x)
        output, back = forward_of(
            who, lambda: conf.forward(run, lent), inputs="x", gradient="gradient back"
        )
        check_made(who, "forward must return an output", output, run.output_type, x)

        def backward(grad_out: FloatArray) -> FloatArray | None:
            lent = read_only(grad_out)
            grad_x = backward_of(who, lambda: back(lent))
            wanted = "backward must return a gradient"
            check_made(who, wanted, grad_x, run.input_type, grad_out)
            return writable(grad_x, lent, grad_out)

        return writable(output, lent, x), backward

    return forward

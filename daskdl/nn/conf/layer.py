"""What all layer configurations share."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from pydantic import Field, model_validator

from daskdl.arrays.namespace import FloatArray
from daskdl.errors import OptionError
from daskdl.nn.conf.activations import draws_random_numbers
from daskdl.nn.conf.dropouts import (
    AnyDropout,
    Dropouts,
    PlainDropout,
    SpatialDropout,
    keep_probability_of,
    refuse_two_dropouts,
)
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType, features_of, inside_type, with_features
from daskdl.nn.conf.losses import activation_of, label_columns
from daskdl.nn.conf.options import TrainingOptions, WeightOptions
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.preprocessor import AnyPreprocessor
from daskdl.nn.conf.values import Conf, Names
from daskdl.nn.conf.weight_inits import AnyWeightInit
from daskdl.nn.conf.weight_noise import AnyWeightNoise
from daskdl.nn.run import Backward, Run, Work

T = TypeVar("T")


class Inside(NamedTuple):
    """A layer that a wrapper holds.

    Attributes
    ----------
    name : str
        Ends the name of the wrapper.
    conf : LayerConf
    input_type : InputType
        What arrives, in front of its preprocessor.
    prefix : str
        Begins the names that its parameters have in the wrapper.
    """

    name: str
    conf: "LayerConf"
    input_type: InputType
    prefix: str = ""


class LayerConf(Conf):
    """A layer, with or without parameters.

    Parameters
    ----------
    name : str, optional
        What messages, parameters and statistics call it; by default ``layer0``,
        ``layer1``, ... In a graph the key of the vertex is the name.
    inputs : tuple of str
        In a graph, the inputs or vertices it reads; elsewhere empty.
    preprocessor : preprocessor, optional
        Reshapes the input. Only for what does not happen by itself: images are
        flattened for a dense layer, and dense layers work on each time step.
    dropout : dropout, optional
        What happens to the input in training. That of the whole network reaches only
        layers that say so: nobody wants it a second time in front of a pooling.
    dl4j : mapping
        Properties in a file that change nothing here, kept for the way back.
    """

    # Whether the dropout of the whole network is this layer's, if it has none itself.
    takes_network_dropout: ClassVar[bool] = False
    # Whether its weights have no noise where layers may ignore theirs.
    ignores_weight_noise: ClassVar[bool] = False
    # What the network has for all layers and this one has no use for.
    unused_options: ClassVar[tuple[str, ...]] = ()
    # Whether threads may have a part of the examples of a minibatch each: no example of
    # the output depends on others, or the threads meet where it does. See design 0032.
    can_be_cut: ClassVar[bool] = False
    # Whether nothing in front of the layer learns from what is behind it.
    stops_gradient: ClassVar[bool] = False

    # Some dialects take the gradient of some layers twice, see nn.layers.same_diff.
    counts_gradient_twice: ClassVar[bool] = False
    # Whether the layers inside use a mask that they by themselves may only pass on.
    masks_inside: ClassVar[bool] = False
    # Whether some dialects let a recurrent layer in a wrapper begin each segment of
    # truncated backpropagation with zeros.
    forgets_in_wrappers: ClassVar[bool] = False
    # Of output layers: whether some dialects divide the score by the number of examples
    # whatever `mini_batch` says.
    has_mean_score: ClassVar[bool] = False
    # Of output layers: whether training sets a parameter to what this process has seen,
    # besides updates.
    sets_parameters: ClassVar[bool] = False

    type: str
    name: Annotated[str, Field(min_length=1)] | None = None
    inputs: Names = ()
    preprocessor: AnyPreprocessor | None = None
    dropout: AnyDropout | None = None
    dl4j: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_dropout(self) -> "LayerConf":
        refuse_two_dropouts(self)
        return self

    def output_type(self, input_type: InputType) -> InputType:
        """Return the type of the output for `input_type`; refuse what cannot go in."""
        raise TypeError(f"{type(self).__name__} does not say what comes out of it.")

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Return the output, and the function that takes its gradient back.

        Parameters
        ----------
        run : Run
            Parameters, gradients, mask, random numbers, buffers.
        x : ndarray of shape (batch, *input_type.shape), dtype of the parameters
            Not to be changed.

        Returns
        -------
        output : ndarray of shape (batch, *output_type.shape), same dtype
        backward : function of (gradient in the output)
            Writes the gradients of the parameters and returns that in `x`, for a loss
            that is summed over the examples.
        """
        raise TypeError(f"{type(self).__name__}: must have a method forward(run, x).")

    def pretrain(self, run: Run, x: FloatArray, rng: np.random.Generator) -> float:
        """Compute the gradients of one step of training without labels.

        Parameters
        ----------
        run : Run
            All gradients are overwritten with sums over the examples.
        x : ndarray of shape (batch, *input_type.shape)
            Not to be changed.
        rng : numpy.random.Generator
            For corruption and samples.

        Returns
        -------
        score : float
            Summed over the examples, without regularization.
        """
        raise TypeError(f"{type(self).__name__} learns from labels only.")

    def reconstruct(self, run: Run, x: FloatArray) -> FloatArray:
        """Return what the layer restores of its input, in inference mode.

        Parameters
        ----------
        run : Run
        x : ndarray of shape (batch, *input_type.shape)
            Not to be changed.

        Returns
        -------
        ndarray of shape (batch, n_in)
            Newly allocated.
        """
        raise TypeError(f"{type(self).__name__} restores nothing.")

    @property
    def is_pretrainable(self) -> bool:
        """True if the layer has a method :meth:`pretrain`."""
        return type(self).pretrain is not LayerConf.pretrain

    def feed_forward_mask(self, run: Run, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask that goes on with the output: the same, unless overridden.

        Parameters
        ----------
        run : Run
        mask : ndarray of shape (batch, time), (batch, 1), or None
            1 keeps, 0 drops. Not to be changed.
        """
        return mask

    def step_mask(self, run: Run, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask that the steps of the last output obey.

        Parameters
        ----------
        run : Run
        mask : ndarray of shape (batch, time), or None
            That which arrived.
        """
        return self.feed_forward_mask(run, mask)

    def layers_inside(self, input_type: InputType) -> tuple[Inside, ...]:
        """Return the layers that a wrapper holds, by what the wrapper gets."""
        return ()

    def begin_iteration(self, run: Run, epoch: int) -> None:
        """Take notice that an iteration of training begins, `epoch` epochs done.

        Only output layers are told.
        """

    def weight_init_of(self, parameter: Parameter) -> AnyWeightInit | None:
        """Return how a weight is drawn."""
        rule: AnyWeightInit | None = getattr(self, "weight_init", None)
        return rule

    def initialize(self, run: Run, rng: np.random.Generator) -> None:
        """Change initial values; by now they are what the roles of parameters say.

        Weights are drawn with the fans of their first axes and of their last, gains are
        `gain_init`, biases `bias_init`, all else is 0.
        """

    def fans(self, parameter: Parameter) -> tuple[float, float]:
        """Return how many numbers a weight joins: its first axes, and its last one."""
        *inputs, outputs = parameter.shape or (1,)
        return float(math.prod(inputs)), outputs

    def labels_type(self, input_type: InputType) -> InputType:
        """Return the type of the labels of an output layer for `input_type`."""
        output = self.output_type(input_type)
        loss = getattr(self, "loss", None)
        if loss is None or None in output.shape[-1:]:
            return output
        return with_features(output, label_columns(loss, features_of(output)))

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return the parameters in the order in which they lie in the flat vector."""
        return ()

    def parameter_shapes(self, input_type: InputType) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the parameters by their names, in layout order."""
        return {item.name: item.shape for item in self.parameters(input_type)}

    def file_order(self, input_type: InputType) -> tuple[str, ...]:
        """Return the names of the parameters in the order of a file's flat vector."""
        return tuple(item.name for item in self.parameters(input_type))

    @property
    def table_order(self) -> tuple[str, ...]:
        """The order in which some dialects deal regularization and updaters.

        Empty where that is the order in which they lie.
        """
        return ()

    @property
    def trained(self) -> TrainingOptions | None:
        """The configuration that says how the parameters change, if there are any."""
        return self if isinstance(self, TrainingOptions) else None

    def can_take_over(self, work: Work) -> bool:
        """Return whether it can do such work of the layer that alone reads its output.

        Then it does what `run.fused` says; by itself none can.
        """
        return False

    @property
    def drops_input(self) -> bool:
        """Whether the layer's own dropout is applied."""
        return self.takes_network_dropout or "layers_ignore_dropout" not in self.quirks

    @property
    def input_dropout(self) -> Dropouts | None:
        """What happens to the layer's input in training, if anything."""
        if not self.drops_input:
            return None
        keep = keep_probability_of(self)
        return self.dropout if keep == 1 else PlainDropout(keep_probability=keep)

    @property
    def applied_noise(self) -> AnyWeightNoise | None:
        """What is done to the weights in training, if anything."""
        if self.ignores_weight_noise and "layers_ignore_weight_noise" in self.quirks:
            return None
        return getattr(self, "weight_noise", None)

    def filled(
        self, defaults: Mapping[str, Any], input_type: InputType, name: str
    ) -> "LayerConf":
        """Return a copy with nothing left open.

        Parameters
        ----------
        defaults : mapping of str to value
            What the network says for the options that are None here.
        input_type : InputType
            What the layer gets, behind its preprocessor.
        name : str
            What it is called.
        """
        unused = self.unused_options
        said = (self.dropout, getattr(self, "keep_probability", None))
        if not self.takes_network_dropout or said != (None, None):
            # What the layer says of dropout, it says in one of the two options.
            unused += ("dropout", "keep_probability")
        used = {key: defaults[key] for key in defaults if key not in unused}
        values = {**self.left_open(used), "name": name}
        if self.is_output and getattr(self, "activation", "") is None:
            loss: Any = getattr(self, "loss", "")
            values["activation"] = activation_of(loss)
        if isinstance(self, WeightOptions):
            values["n_in"] = self.inferred_n_in(inside_type(input_type))
        filled = self.model_copy(update=values)
        filled.check_dropout(input_type)
        return filled

    def check_dropout(self, input_type: InputType) -> None:
        """Refuse a dropout that would be ignored, or that drops features of rows.

        One in `dropout` may be ignored: files have it, and are written as they were
        read.

        Raises
        ------
        OptionError
            If `keep_probability` is never applied, or spatial dropout meets rows.
        """
        keep = keep_probability_of(self)
        if keep != 1 and not self.drops_input:
            kind = type(self).__name__
            raise PathError(
                f"must be left out: {kind} never drops its input in the network's "
                f"dialect, got {keep}. Put a Dropout layer in front of it.",
                "keep_probability",
            )
        if isinstance(self.input_dropout, SpatialDropout) and len(input_type.shape) < 2:
            raise PathError(
                "must be of another kind: spatial dropout needs time series, images "
                f"or volumes, got {input_type}.",
                "dropout",
            )

    @property
    def is_output(self) -> bool:
        """True if the layer computes a loss."""
        return False

    @property
    def masks_output(self) -> bool:
        """Whether a mask of the labels sets what it drops of the output to 0."""
        return True

    @property
    def draws_random_numbers(self) -> bool:
        """True if training needs random numbers."""
        if self.input_dropout is not None or self.applied_noise is not None:
            return True
        activation = getattr(self, "activation", None)
        return activation is not None and draws_random_numbers(activation)

    @property
    def reads_whole_series(self) -> bool:
        """True if it cannot go on where a stretch of a time series ended."""
        return False


def given(who: str, option: str, value: T | None) -> T:
    """Return the value of an option that the network's defaults should have filled.

    Raises
    ------
    OptionError
        If it is None.
    """
    if value is None:
        raise OptionError(
            f"{who}: {option} must be given, got None. Build layers from a network's "
            "configuration, which fills in its defaults."
        )
    return value


if TYPE_CHECKING:
    # What several kinds share beside options is a group, too: a class that they list in
    # front of these. That it may count on them, only type checkers have to be told.
    LayerGroup = LayerConf

    class WeightGroup(WeightOptions, TrainingOptions, LayerConf):
        """A layer with weights."""

else:
    LayerGroup = WeightGroup = Conf

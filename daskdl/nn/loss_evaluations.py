"""The evaluation that goes with a loss, and whether its labels are classes."""

from typing import TYPE_CHECKING, Any

from daskdl.arrays.namespace import FloatArray, to_host
from daskdl.errors import OptionError
from daskdl.evaluation.evaluable import Evaluable
from daskdl.evaluation.evaluation import Evaluation
from daskdl.evaluation.evaluation_binary import EvaluationBinary
from daskdl.evaluation.regression import RegressionEvaluation
from daskdl.nn.conf.axes import feature_axis
from daskdl.nn.conf.input_type import InputType

if TYPE_CHECKING:
    from daskdl.nn.step import StepNetwork

__all__ = ["INDEPENDENT_LOSSES", "REGRESSION_LOSSES", "class_axis", "evaluation_for"]
__all__ += ["CLASS_LOSSES", "check_class_outputs", "is_independent"]
__all__ += ["count_rows", "n_classes_of", "tells_classes"]

REGRESSION_LOSSES = frozenset(
    {
        "mse",
        "l2",
        "mae",
        "l1",
        "mape",
        "msle",
        "poisson",
        "cosine_proximity",
        "wasserstein",
    }
)
# Their outputs do not exclude each other.
INDEPENDENT_LOSSES = frozenset({"xent", "multilabel"})
# Their labels are classes: rows of 0 and 1, or numbers of classes that become those.
CLASS_LOSSES = frozenset({"mcxent", "negativeloglikelihood"})
# Output layers and losses whose outputs are neither classes nor values: what they are,
# and what can be done with them.
_NOT_EVALUATED = {
    "ocnn_output": "are scores of how normal an example is, and its labels are not "
    "looked at. Give ROC() and labels of 1 for what is normal and 0 for anomalies, or "
    "compare output() with the parameter 'r', below which anomalies are",
    "yolo2_output": "are boxes in the cells of a grid. Compare those of output() with "
    "the objects; compute_score() returns the loss",
    "mixture_density": "are parameters of distributions. compute_score() returns minus "
    "the logarithm of the probability of labels",
}
# One takes nothing but the numbers.
_LOSSES_OF_CLASSES = CLASS_LOSSES | {"sparse_mcxent"}


def evaluation_for(
    network: "StepNetwork[Any]", *, axis: int | None = None, output: int = 0
) -> Evaluable:
    """Return an empty evaluation of the kind that an output's loss asks for.

    Parameters
    ----------
    network : MultiLayerNetwork or ComputationGraph
        Its class names, which are those of the first output, are in the evaluation.
    axis : int, optional
        Of the classes in what will be counted; by default where the data format of the
        output has them.
    output : int
        Which of several outputs is evaluated.

    Returns
    -------
    RegressionEvaluation
        For losses between numbers.
    EvaluationBinary
        For several outputs that do not exclude each other.
    Evaluation
        For classes, and for losses that tell nothing.

    Raises
    ------
    OptionError
        If the outputs are neither classes nor values; it says what to do.
    """
    _check_is_evaluated(network, output)
    axis = class_axis(network, output) if axis is None else axis
    if network.output_losses[output] in REGRESSION_LOSSES:
        return RegressionEvaluation(axis=axis)
    names = network.class_names if output == 0 else None
    if is_independent(network, output):
        return EvaluationBinary(labels=names, axis=axis)
    return Evaluation(labels=names, axis=axis, dialect=network.conf.dialect)


def class_axis(network: "StepNetwork[Any]", output: int = 0) -> int:
    """Return which axis of an output, with the batch as axis 0, holds its classes."""
    kind = network.outputs[output].type
    return feature_axis(kind) % (1 + len(kind.border_shape))


def _check_is_evaluated(network: "StepNetwork[Any]", output: int) -> None:
    conf, loss = network.output_nodes[output].conf, network.output_losses[output]
    told = _NOT_EVALUATED.get(conf.type) or _NOT_EVALUATED.get(loss)
    if told is not None:
        raise OptionError(
            f"{type(network).__name__}.evaluate: evaluation must be given, got None: "
            f"the outputs of {type(conf).__name__} {told}."
        )


def n_classes_of(loss: str, output_type: InputType) -> int | None:
    """Return the number of classes of an output's labels; None without classes."""
    if not tells_classes(loss):
        return None
    n_out = output_type.shape[-1]
    return n_out if n_out is not None and n_out > 1 else None


def check_class_outputs(network: "StepNetwork[Any]") -> None:
    """Refuse outputs of classes, or with a softmax, that have one number alone.

    A softmax of one number is 1, whatever comes in: its score is that of a network that
    has learnt all there is.

    Raises
    ------
    OptionError
        With loss and activation.
    """
    each = zip(network.output_nodes, network.output_losses, strict=True)
    for (node, loss), n_out in zip(each, network.output_layer_n_out, strict=True):
        activation = getattr(node.conf, "activation", None)
        is_softmax = getattr(activation, "type", activation) == "softmax"
        if n_out is None or n_out > 1 or not (tells_classes(loss) or is_softmax):
            continue
        kind = f"loss {loss!r}" if tells_classes(loss) else "activation 'softmax'"
        raise OptionError(
            f"{type(network).__name__}: n_out of an output with {kind} must be at "
            f"least 2, one for each class, got {n_out}. For two classes in one number "
            "use loss 'xent' with activation 'sigmoid'."
        )


def tells_classes(loss: str) -> bool:
    """Whether the labels of an output with this loss are classes, in whatever form."""
    return loss in _LOSSES_OF_CLASSES


def is_independent(network: "StepNetwork[Any]", output: int = 0) -> bool:
    """Whether an output has probabilities that do not exclude each other."""
    is_alone = network.output_layer_n_out[output] == 1
    return network.output_losses[output] in INDEPENDENT_LOSSES and not is_alone


def count_rows(
    evaluation: Evaluable, labels: FloatArray, outputs: FloatArray, mask: Any
) -> None:
    """Count labels and outputs; time steps are rows, so that nothing needs their axis.

    Parameters
    ----------
    evaluation : Evaluable
        Counts on.
    labels, outputs : ndarray of shape (batch, ..., n_out)
    mask : ndarray of shape (batch, ...) or None
    """
    rows = outputs.reshape(-1, outputs.shape[-1])
    if mask is not None:
        mask = to_host(mask.reshape(len(rows), -1))
    evaluation.eval(to_host(labels.reshape(-1, labels.shape[-1])), to_host(rows), mask)

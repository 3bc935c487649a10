"""What the routing of capsules keeps from its forward to its backward pass."""

from dataclasses import dataclass

from daskdl.arrays.namespace import FloatArray


@dataclass(frozen=True)
class Routing:
    """What the routing of capsules writes forward and reads backward.

    Parameters
    ----------
    predictions : ndarray of shape (n_in, batch, capsules, dimensions)
        What each capsule of the input predicts for each of the output: u-hat.
    couplings : ndarray of shape (routings, n_in, batch, capsules)
        The softmax over capsules in each iteration.
    sums : ndarray of shape (routings, batch, capsules, dimensions)
        What is squashed in each iteration.
    """

    predictions: FloatArray
    couplings: FloatArray
    sums: FloatArray

"""Whether a minibatch may be cut by examples, and into how many parts it pays."""

import math
from collections.abc import Sequence
from typing import Any

from daskdl.nn.conf.activations import WITH_OPTIONS as ACTIVATIONS
from daskdl.nn.conf.input_type import Recurrent
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.losses import WITH_OPTIONS as LOSSES
from daskdl.nn.conf.topology import Node
from daskdl.nn.conf.values import Conf, tag_of
from daskdl.nn.layers.embedding import LookupConf
from daskdl.nn.memory_footprint import n_params_of

_NAMED = {tag_of(kind): kind for kind in (*ACTIVATIONS, *LOSSES)}

# What a thread must have to do, in multiplications of a forward pass: it costs the way
# there and back, and for each part what Python does, which it does for one thread at a
# time. Two threads lost with 2 to 47 million together, and gained with 149 million.
_A_PART = 1_200_000
_A_PASS = 40_000_000

# Each thread reads all parameters and writes gradients of all. Where each of many, too
# many for a level-2 cache, is used but a few times, that takes longer than to multiply,
# and threads of BLAS, which have some columns of a matrix each, are faster.
_MANY_PARAMS = 1_000_000
_LEAST_USES = 200


def can_be_cut(conf: Any) -> bool:
    """Return whether nothing in a configuration needs all examples in one place.

    Parameters
    ----------
    conf : LayerConf, VertexConf, or what they hold
        Each kind says it for itself in ``can_be_cut``; what has no such word, such as a
        number or an updater, has nothing to do with examples.
    """
    if isinstance(conf, str):
        return getattr(_NAMED.get(conf), "can_be_cut", True)
    if isinstance(conf, list | tuple):
        return all(map(can_be_cut, conf))
    if not isinstance(conf, Conf):
        return True
    held = (getattr(conf, name) for name in type(conf).model_fields)
    return getattr(conf, "can_be_cut", True) and all(map(can_be_cut, held))


class Workload:
    """What passes of a network cost.

    Parameters
    ----------
    nodes : sequence of Node
        Its layers and vertices.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._least = _A_PASS + _A_PART * len(nodes)
        n_params = n_params_of(nodes)
        if n_params > _MANY_PARAMS:
            self._least = max(self._least, n_params * _LEAST_USES // 2)
        series = [node for node in nodes if _has_steps(node)]
        rows = [node for node in nodes if not _has_steps(node)]
        self._an_example = sum(map(_multiplications, rows))
        self._a_step = sum(map(_multiplications, series))

    def parts(self, n_examples: int, n_steps: int) -> int:
        """Return into how many parts it pays to cut a minibatch.

        It follows from shapes alone, never from a clock: one minibatch is cut in one
        way whenever it is trained.

        Parameters
        ----------
        n_examples, n_steps : int
            Of the minibatch; the time steps of its longest series.
        """
        work = n_examples * (self._an_example + n_steps * self._a_step)
        return max(1, min(n_examples, work // self._least))


def _multiplications(node: Node) -> int:
    """Return how many there are in a forward pass of an example, or of a time step."""
    # Sizes that only data tell count as 1, as steps do.
    *places, features = (n or 1 for n in node.output_type.shape)
    n_places = 1 if isinstance(node.output_type, Recurrent) else math.prod(places)
    outputs = n_places * features
    if not isinstance(node.conf, LayerConf) or isinstance(node.conf, LookupConf):
        return outputs
    weights = sum(math.prod(item.shape) for item in node.parameters)
    return outputs + n_places * weights


def _has_steps(node: Node) -> bool:
    kinds = (*node.input_types, node.output_type)
    return any(isinstance(kind, Recurrent) for kind in kinds)

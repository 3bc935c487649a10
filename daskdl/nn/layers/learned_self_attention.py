"""The layer that asks the steps of a series what it has learned to ask."""

from typing import Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.conf.input_type import InputType, Recurrent
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import Count
from daskdl.nn.conf.weight_inits import AnyWeightInit
from daskdl.nn.layers.attention import AttentionConf, draw, self_attention_fans
from daskdl.nn.layers.heads import Heads
from daskdl.nn.layers.layer import Layer, works_for
from daskdl.nn.layers.same_diff import sd_parameter
from daskdl.nn.masks import check_step_mask


class LearnedSelfAttention(AttentionConf):
    """Summarise a series in as many steps as there are learned queries.

    Parameters
    ----------
    n_queries : int
        Number of learned queries, and of steps that come out.

    References
    ----------
    DL4J, ``LearnedSelfAttentionLayer``.
    """

    type: Literal["learned_self_attention"] = "learned_self_attention"
    n_queries: Count

    def output_type(self, input_type: InputType) -> Recurrent:
        """Return time series of `n_out`, `n_queries` steps long."""
        series = self.series(input_type)
        return series.replaced(size=self.n_out, time_steps=self.n_queries)

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return Q (n_queries, n_in) and perhaps Wq, Wk, Wv and Wo."""
        n_in = self.inferred_n_in(input_type)
        queries = sd_parameter(
            "Q",
            (self.n_queries, n_in),
            axes=(1, 0),
            file_shape=(1, n_in, self.n_queries),
        )
        return (queries, *self.projections(n_in, n_in, n_in))


@works_for(LearnedSelfAttention)
class LearnedSelfAttentionLayer(Layer[LearnedSelfAttention]):
    """Attention of learned queries to the steps of a series.

    Steps that the mask drops are no answer to any query; nothing of what comes out is
    masked.
    """

    def bind(
        self, params: dict[str, FloatArray], gradients: dict[str, FloatArray]
    ) -> None:
        """Take the views; see :meth:`Layer.bind`."""
        super().bind(params, gradients)
        self._heads = Heads(self._buffer, params, gradients, self.conf.quirks)

    def initialize(self, rng: np.random.Generator) -> None:
        """Draw the queries with fans n_in and n_queries, and the projections."""
        n_in = self.conf.inferred_n_in(self.input_type)
        fans = {"Q": (n_in, self.conf.n_queries)}
        fans.update(self_attention_fans(self.conf, self.params, n_in))
        scheme: AnyWeightInit = self._given("weight_init", self.conf.weight_init)
        draw(self.params, fans, scheme, rng, self.conf.quirks)

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the answers, (batch, n_queries, n_out); see :meth:`Layer.forward`."""
        self._check_input(x)
        check_step_mask(mask, x, self.who)
        learned = self.params["Q"]
        queries = self._buffer("queries", (len(x), *learned.shape), x.dtype)
        queries[...] = learned
        return self._heads.forward(queries, x, x, mask)

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients; see :meth:`Layer.backward`."""
        # The gradient of the queries is needed for Q, whoever reads that of x.
        grad_queries, grad_x, grad_values = self._heads.backward(grad_out)
        array_namespace(grad_out).sum(grad_queries, axis=0, out=self.gradients["Q"])
        if not self.needs_grad_x:
            return None
        grad_x += grad_values
        return grad_x

    def feed_forward_mask(self, mask: FloatArray | None) -> FloatArray | None:
        """Return None: the answers have taken the mask into account.

        See :meth:`Layer.feed_forward_mask`.
        """
        return None

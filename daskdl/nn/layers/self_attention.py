"""The layer whose steps ask each other."""

from typing import ClassVar, Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.input_type import InputType, Recurrent
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.weight_inits import AnyWeightInit
from daskdl.nn.layers.attention import AttentionConf, draw, self_attention_fans
from daskdl.nn.layers.heads import Heads
from daskdl.nn.layers.layer import Layer, works_for
from daskdl.nn.masks import check_step_mask


class SelfAttention(AttentionConf):
    """Give each step of a series the steps that answer it best.

    Queries, keys and values are the steps themselves, or their projections.

    References
    ----------
    Vaswani et al. 2017, "Attention Is All You Need", arXiv:1706.03762, pages 4 and 5.
    DL4J, ``SelfAttentionLayer``.

    Examples
    --------
    >>> from daskdl.nn.conf.input_type import Recurrent
    >>> layer = SelfAttention(n_out=6, n_heads=2, project_input=True)
    >>> [item.name for item in layer.parameters(Recurrent(size=3))]
    ['Wq', 'Wk', 'Wv', 'Wo']
    """

    counts_gradient_twice: ClassVar[bool] = True

    type: Literal["self_attention"] = "self_attention"

    def output_type(self, input_type: InputType) -> Recurrent:
        """Return time series of `n_out`, as long as the input."""
        return self.series(input_type).replaced(size=self.n_out)

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return Wq, Wk, Wv (n_heads, head_size, n_in) and Wo, or nothing."""
        n_in = self.inferred_n_in(input_type)
        return self.projections(n_in, n_in, n_in)


@works_for(SelfAttention)
class SelfAttentionLayer(Layer[SelfAttention]):
    """Attention of the steps to each other.

    Steps that the mask drops are no answer to any query, and get none: 0 comes out.
    """

    def bind(
        self, params: dict[str, FloatArray], gradients: dict[str, FloatArray]
    ) -> None:
        """Take the views; see :meth:`Layer.bind`."""
        super().bind(params, gradients)
        self._heads = Heads(self._buffer, params, gradients, self.conf.quirks)

    def initialize(self, rng: np.random.Generator) -> None:
        """Draw the projections with the fans of what they map."""
        n_in = self.conf.inferred_n_in(self.input_type)
        fans = self_attention_fans(self.conf, self.params, n_in)
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
        """Compute the output, (batch, time, n_out); see :meth:`Layer.forward`."""
        self._check_input(x)
        check_step_mask(mask, x, self.who)
        answers_all = "attention_answers_masked_queries" in self.conf.quirks
        asked = None if answers_all else mask
        return self._heads.forward(x, x, x, mask, asked=asked)

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients; see :meth:`Layer.backward`."""
        grads = self._heads.backward(grad_out, needs_grads=self.needs_grad_x)
        if not grads:
            return None
        grad_x, *others = grads
        for other in others:
            grad_x += other
        return grad_x

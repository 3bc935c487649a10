"""The layers whose steps, or learned queries, ask the steps of a series."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, WithJsonSchema, model_validator

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType, Recurrent
from daskdl.nn.conf.layer import LayerConf, WeightGroup
from daskdl.nn.conf.options import TrainingOptions, WeightOptions
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import Count
from daskdl.nn.layers.heads import Heads
from daskdl.nn.layers.input_kinds import series_in
from daskdl.nn.layers.same_diff import sd_parameter
from daskdl.nn.masks import check_step_mask
from daskdl.nn.run import Backward, Run


class AttentionConf(WeightGroup):
    """A layer that weighs the steps of its input by how well they answer queries.

    Parameters
    ----------
    n_heads : int, default 1
        How many times the steps are weighed, each time by other projections.
    head_size : int, optional
        Size of the projections; ``n_out / n_heads`` if left out.
    project_input : bool
        Whether queries, keys and values are projected. Without, there is one head and
        as many outputs as inputs.
    """

    takes_network_dropout: ClassVar[bool] = False
    ignores_weight_noise: ClassVar[bool] = True
    unused_options: ClassVar[tuple[str, ...]] = ("activation", "bias_init")

    n_out: Annotated[Count, WithJsonSchema({"type": "integer", "minimum": 0})] = Field(
        kw_only=False
    )
    n_heads: Count = 1
    head_size: Count | None = None
    project_input: bool = False

    @model_validator(mode="before")
    @classmethod
    def _take_inputs_for_outputs(cls, data: Any) -> Any:
        """Take 0 outputs of an unprojected layer for as many as inputs, as files do."""
        if isinstance(data, Mapping) and data.get("n_out") == 0 and "n_in" in data:
            return {**data, "n_out": data["n_in"]}
        return data

    @model_validator(mode="after")
    def _check_heads(self) -> "AttentionConf":
        check_heads(self.n_heads, self.head_size, self.n_out, self.project_input)
        for option in self.unused_options:
            if getattr(self, option) is not None:
                raise PathError(
                    f"must be left out: {type(self).__name__} has none, got "
                    f"{getattr(self, option)!r}.",
                    option,
                )
        return self

    @property
    def size_of_heads(self) -> int:
        """Size of one head's queries, keys and values."""
        return self.head_size or self.n_out // self.n_heads

    def series(self, input_type: InputType) -> Recurrent:
        """Return the type of the input, or refuse all but time series that fit."""
        series = series_in(self, input_type)
        n_in = self.inferred_n_in(series)
        if not self.project_input and n_in != self.n_out:
            raise PathError(
                f"must be {n_in}, the number of inputs, where project_input is False, "
                f"got {self.n_out}.",
                "n_out",
            )
        return series

    def projections(
        self, n_queries: int, n_keys: int, n_values: int
    ) -> tuple[Parameter, ...]:
        """Return Wq, Wk, Wv and Wo for inputs of these sizes, if there are any."""
        if not self.project_input:
            return ()
        sizes = (n_queries, n_keys, n_values)
        return projections(self.n_heads, self.size_of_heads, sizes, self.n_out)

    def fans(self, parameter: Parameter) -> tuple[float, float]:
        """Return the fans of one head's projection, or of the output's."""
        name, shape = parameter.name, parameter.shape
        if name not in ("Wq", "Wk", "Wv", "Wo"):
            return super().fans(parameter)
        if "attention_swaps_fans" not in self.quirks:
            return projection_fans(name, shape)
        # The projections get the fans of the way out, and that nearly theirs.
        if name == "Wo":
            return self.n_in or 0, self.size_of_heads
        return self.n_heads * self.size_of_heads, self.n_out


class SelfAttention(AttentionConf, WeightOptions, TrainingOptions, LayerConf):
    """Give each step of a series the steps that answer it best.

    Queries, keys and values are the steps themselves, or their projections. Steps that
    the mask drops are no answer to any query, and get none: 0 comes out.

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
    can_be_cut: ClassVar[bool] = True

    type: Literal["self_attention"] = "self_attention"

    def output_type(self, input_type: InputType) -> Recurrent:
        """Return time series of `n_out`, as long as the input."""
        return self.series(input_type).replaced(size=self.n_out)

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return Wq, Wk, Wv (n_heads, head_size, n_in) and Wo, or nothing."""
        n_in = self.inferred_n_in(input_type)
        return self.projections(n_in, n_in, n_in)

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Answer each step of `x`, of shape (batch, time, n_in)."""
        check_step_mask(run.mask, x, run.who)
        heads = Heads(run.lent, run.params, run.gradients, self.quirks)
        answers_all = "attention_answers_masked_queries" in self.quirks
        asked = None if answers_all else run.mask

        def backward(grad_out: FloatArray) -> FloatArray | None:
            grads = heads.backward(grad_out, needs_grads=run.needs_grad_x)
            if not grads:
                return None
            grad_x, *others = grads
            for other in others:
                grad_x += other
            return grad_x

        return heads.forward(x, x, x, run.mask, asked=asked), backward


class LearnedSelfAttention(AttentionConf, WeightOptions, TrainingOptions, LayerConf):
    """Summarise a series in as many steps as there are learned queries.

    Steps that the mask drops are no answer to any query; nothing of what comes out is
    masked.

    Parameters
    ----------
    n_queries : int
        Number of learned queries, and of steps that come out.

    References
    ----------
    DL4J, ``LearnedSelfAttentionLayer``.
    """

    can_be_cut: ClassVar[bool] = True

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

    def fans(self, parameter: Parameter) -> tuple[float, float]:
        """Return n_in and n_queries for the queries; see :meth:`AttentionConf.fans`."""
        if parameter.name != "Q":
            return super().fans(parameter)
        n_queries, n_in = parameter.shape
        return n_in, n_queries

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Answer the learned queries by `x`, of shape (batch, time, n_in)."""
        check_step_mask(run.mask, x, run.who)
        heads = Heads(run.lent, run.params, run.gradients, self.quirks)
        learned = run.params["Q"]
        queries = run.buffer("queries", (len(x), *learned.shape), x.dtype)
        queries[...] = learned

        def backward(grad_out: FloatArray) -> FloatArray | None:
            # The gradient of the queries is needed for Q, whoever reads that of x.
            grad_queries, grad_x, grad_values = heads.backward(grad_out)
            array_namespace(grad_out).sum(grad_queries, axis=0, out=run.gradients["Q"])
            if not run.needs_grad_x:
                return None
            grad_x += grad_values
            return grad_x

        return heads.forward(queries, x, x, run.mask), backward

    def feed_forward_mask(self, run: Run, mask: FloatArray | None) -> FloatArray | None:
        """Return None: the answers have taken the mask, (batch, time), into account."""
        return None


def check_heads(
    n_heads: int, head_size: int | None, n_out: int, project_input: bool
) -> None:
    """Refuse numbers of heads that cannot be.

    Raises
    ------
    OptionError
        If there are several heads but no projections, or the outputs cannot be dealt
        to the heads.
    """
    if not project_input and n_heads != 1:
        raise PathError(f"must be 1 without project_input, got {n_heads}.", "n_heads")
    if project_input and head_size is None and n_out % n_heads:
        raise PathError(
            f"must be given where n_heads, {n_heads}, does not divide n_out, {n_out}, "
            "got None.",
            "head_size",
        )


def projections(
    n_heads: int, head_size: int, sizes: tuple[int, int, int], n_out: int
) -> tuple[Parameter, ...]:
    """Return Wq, Wk, Wv (n_heads, head_size, n_in) and Wo (all heads, n_out)."""
    into = [
        sd_parameter(name, (n_heads, head_size, size))
        for name, size in zip(("Wq", "Wk", "Wv"), sizes, strict=True)
    ]
    return (*into, sd_parameter("Wo", (n_heads * head_size, n_out)))


def projection_fans(name: str, shape: tuple[int, ...]) -> tuple[float, float]:
    """Return the fans of Wq, Wk or Wv of one head, or of Wo."""
    *_, n_in, n_out = shape
    return (n_in, n_out) if name == "Wo" else (n_out, n_in)

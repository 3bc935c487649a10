"""The options that all attention layers share, and the parameters of attention."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, WithJsonSchema, model_validator

from daskdl.arrays.namespace import FloatArray
from daskdl.dialects import Quirks
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType, Recurrent
from daskdl.nn.conf.layer import LayerConf, WeightLayerConf
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import Count
from daskdl.nn.conf.weight_inits import AnyWeightInit
from daskdl.nn.initializers import draw_weights
from daskdl.nn.layers.entering import series_in
from daskdl.nn.layers.same_diff import sd_parameter

Fans = tuple[int, int]


class AttentionConf(WeightLayerConf):
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
    # What the network has for all layers and this one has no use for.
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

    def filled(
        self, defaults: Mapping[str, Any], input_type: InputType, name: str
    ) -> LayerConf:
        """Return a copy with nothing left open but what the layer has no use for."""
        used = {
            option: value
            for option, value in defaults.items()
            if option not in self.unused_options
        }
        return super().filled(used, input_type, name)

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


def draw(
    params: Mapping[str, FloatArray],
    fans: Mapping[str, Fans],
    scheme: AnyWeightInit,
    rng: np.random.Generator,
    quirks: Quirks,
) -> None:
    """Write initial weights into those parameters that have fans (in, out)."""
    for name, (fan_in, fan_out) in fans.items():
        if name in params:
            weights = params[name]
            draw_weights(scheme, fan_in, fan_out, rng, out=weights, quirks=quirks)


def fans_of_projections(params: Mapping[str, FloatArray]) -> dict[str, Fans]:
    """Return the fans (in, out) of each head's projections, and of the way out."""
    fans: dict[str, Fans] = {}
    for name in ("Wq", "Wk", "Wv"):
        if name in params:
            _, head_size, n_in = params[name].shape
            fans[name] = (n_in, head_size)
    if "Wo" in params:
        n_heads_in, n_out = params["Wo"].shape
        fans["Wo"] = (n_heads_in, n_out)
    return fans


def self_attention_fans(
    conf: AttentionConf, params: Mapping[str, FloatArray], n_in: int
) -> dict[str, Fans]:
    """Return the fans (in, out) of the projections of an attention layer."""
    if "attention_swaps_fans" not in conf.quirks:
        return fans_of_projections(params)
    # The projections get the fans of the way out, and that nearly theirs.
    heads = conf.n_heads * conf.size_of_heads
    into = dict.fromkeys(("Wq", "Wk", "Wv"), (heads, conf.n_out))
    return {**into, "Wo": (n_in, conf.size_of_heads)}

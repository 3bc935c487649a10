"""Configurations of whole networks, from keywords, mappings and YAML."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, TypeVar

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from daskdl.errors import OptionError
from daskdl.nn.conf.defaults import NetworkConf
from daskdl.nn.conf.errors import PathError, got
from daskdl.nn.conf.input_type import AnyInputType
from daskdl.nn.conf.kinds import LAYER_KINDS, PREPROCESSOR_KINDS, VERTEX_KINDS, AnyOf
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.topology import Node, graph, sequence
from daskdl.nn.conf.values import Conf, Names, Several, validated, with_quirks
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.conf.yaml import dump_yaml, load_yaml
from daskdl.nn.layers.table import LAYERS
from daskdl.nn.preprocessors.table import PREPROCESSORS
from daskdl.nn.vertices.merge import MergeVertex
from daskdl.nn.vertices.table import VERTICES

N = TypeVar("N", bound="_Exchanged")

AnyLayer = Annotated[LayerConf, AnyOf(LAYER_KINDS)]
AnyNode = Annotated[LayerConf | VertexConf, AnyOf(LAYER_KINDS, VERTEX_KINDS)]
Vertices = dict[str, LayerConf | VertexConf]

# Every configuration knows every kind.
LAYER_KINDS.enter(LAYERS)
VERTEX_KINDS.enter(VERTICES)
PREPROCESSOR_KINDS.enter(PREPROCESSORS)


def merge_name(layer: str) -> str:
    """Return the name of the vertex that merges the inputs of a layer."""
    return f"{layer}-merge"


def with_merges(vertices: Vertices) -> Vertices:
    """Return vertices with a MergeVertex for each layer that reads several.

    Raises
    ------
    OptionError
        If its name is taken.

    References
    ----------
    DL4J, ``ComputationGraphConfiguration.GraphBuilder.addVertex``, which puts it right
    behind the layer.
    """
    merged: Vertices = {}
    for name, conf in vertices.items():
        merged[name] = conf
        if not isinstance(conf, LayerConf) or len(conf.inputs) < 2:
            continue
        merge = merge_name(name)
        if merge in vertices:
            raise PathError(
                f"must be another name: it is that of the vertex that merges the "
                f"inputs of {name!r}.",
                merge,
            )
        merged[name] = conf.model_copy(update={"inputs": (merge,)})
        merged[merge] = MergeVertex(inputs=conf.inputs)
    return merged


class _Exchanged(Conf):
    """A configuration that goes out and comes in as mapping and YAML."""

    @classmethod
    def from_dict(cls: type[N], data: Any, who: str = "network") -> N:
        """Return the configuration that a mapping of plain values describes.

        Raises
        ------
        OptionError
            With the path of every wrong key, beginning with `who`.
        """
        return validated(cls, data, who)

    @classmethod
    def from_yaml(cls: type[N], text: str, who: str = "network") -> N:
        """Return the configuration that a YAML (or JSON) text describes."""
        return cls.from_dict(load_yaml(text, who), who)

    def to_dict(self, *, compact: bool = False) -> dict[str, Any]:
        """Return plain values that :meth:`from_dict` takes.

        Parameters
        ----------
        compact : bool
            Leave out what has its default. A file that must outlive a change of
            defaults wants all of it.
        """
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=compact)

    def to_yaml(self) -> str:
        """Return YAML without what has its default."""
        return dump_yaml(self.to_dict(compact=True))


class MultiLayerConfiguration(_Exchanged, NetworkConf):
    """Layers that follow one another.

    Parameters
    ----------
    input : InputType
        What an example is, e.g. ``FeedForward(size=64)``.
    layers : tuple of layer configurations
        The last one, and only it, is an output layer.

    Raises
    ------
    OptionError
        If anything is unknown, out of range, or does not fit together.

    Notes
    -----
    The options of :class:`~daskdl.nn.conf.defaults.NetworkConf` are keywords too.

    Examples
    --------
    >>> from daskdl.nn.conf.input_type import FeedForward
    >>> from daskdl.nn.layers.dense import Dense
    >>> from daskdl.nn.layers.output import Output
    >>> conf = MultiLayerConfiguration(
    ...     input=FeedForward(size=4),
    ...     layers=[Dense(n_out=8, activation="relu"), Output(n_out=3)],
    ...     updater="adam",
    ... )
    >>> print(conf.to_yaml())
    updater: {type: adam}
    input: {type: feed_forward, size: 4}
    layers:
    - {type: dense, n_out: 8, activation: relu}
    - {type: output, n_out: 3}
    <BLANKLINE>
    """

    union_tag: ClassVar[str] = "layers"

    input: AnyInputType
    layers: Annotated[Several[AnyLayer], Field(min_length=1)]

    @model_validator(mode="after")
    def _infer(self) -> "MultiLayerConfiguration":
        self.nodes()
        return self

    def nodes(self) -> list[Node]:
        """Return the layers with their names, types and inferred options."""
        layers = with_quirks(self.layers, self.quirks_of_dialect)
        return sequence(self, layers, self.input)


class ComputationGraphConfiguration(_Exchanged, NetworkConf):
    """Layers and vertices that read inputs and each other.

    Parameters
    ----------
    inputs : mapping of str to InputType
        In the order in which features are given.
    vertices : mapping of str to layer or vertex configuration
        Each with `inputs`, the names it reads. In front of a layer that reads several
        a MergeVertex is put, named ``<layer>-merge``.
    outputs : tuple of str
        Output layers, in the order in which labels are given. Other vertices may read
        them too.
    order : tuple of str, optional
        Names of inputs and vertices in the order in which they are computed, and in
        which parameters lie. None stands for their topological order.

    Raises
    ------
    OptionError
        If anything is unknown, out of range, or does not fit together.

    Notes
    -----
    The options of :class:`~daskdl.nn.conf.defaults.NetworkConf` are keywords too.
    """

    union_tag: ClassVar[str] = "vertices"

    inputs: Annotated[dict[str, AnyInputType], Field(min_length=1)]
    vertices: Annotated[
        dict[str, AnyNode], Field(min_length=1), AfterValidator(with_merges)
    ]
    outputs: Annotated[Names, Field(min_length=1)]
    order: Names | None = None

    @model_validator(mode="after")
    def _infer(self) -> "ComputationGraphConfiguration":
        self.nodes()
        return self

    def nodes(self) -> list[Node]:
        """Return layers and vertices in the order in which they are computed."""
        quirks = self.quirks_of_dialect
        vertices = {
            name: with_quirks(conf, quirks) for name, conf in self.vertices.items()
        }
        return graph(self, self.inputs, vertices, self.outputs, self.order)


def resolved(
    conf: MultiLayerConfiguration | ComputationGraphConfiguration,
) -> dict[str, Any]:
    """Return a configuration as plain values, with nothing left open.

    Below ``nodes`` is a mapping for each layer and vertex.
    """
    whole = {
        option: value
        for option, value in conf.to_dict().items()
        if option in NetworkConf.model_fields
    }
    whole["nodes"] = [node.conf.model_dump(mode="json") for node in conf.nodes()]
    return whole


def _kind(value: Any) -> Literal["layers", "vertices"] | None:
    if isinstance(value, MultiLayerConfiguration):
        return "layers"
    if isinstance(value, ComputationGraphConfiguration):
        return "vertices"
    if isinstance(value, Mapping) and "layers" in value:
        return "layers"
    return "vertices" if isinstance(value, Mapping) and "vertices" in value else None


NetworkConfiguration: TypeAlias = Annotated[
    Annotated[MultiLayerConfiguration, Tag("layers")]
    | Annotated[ComputationGraphConfiguration, Tag("vertices")],
    Discriminator(
        _kind,
        custom_error_type="network_kind",
        custom_error_message="must have the key `layers` or the key `vertices`",
    ),
]


def configuration_from_dict(
    data: Any, who: str = "network"
) -> MultiLayerConfiguration | ComputationGraphConfiguration:
    """Return the configuration that a mapping describes.

    Parameters
    ----------
    data : mapping
        With `layers` (a sequence) or `vertices` (a graph).
    who : str
        What the paths in messages begin with.

    Raises
    ------
    OptionError
        If it is neither, or anything in it is wrong.
    """
    kind = _kind(data)
    if kind == "layers":
        return MultiLayerConfiguration.from_dict(data, who)
    if kind == "vertices":
        return ComputationGraphConfiguration.from_dict(data, who)
    raise OptionError(
        f"{who}: must be a mapping with the key `layers` or the key `vertices`, "
        f"got {got(data)}."
    )


def configuration_from_yaml(
    text: str, who: str = "network"
) -> MultiLayerConfiguration | ComputationGraphConfiguration:
    """Return the configuration that a YAML (or JSON) text describes."""
    return configuration_from_dict(load_yaml(text, who), who)

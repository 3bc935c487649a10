"""Options that DL4J has no property for: refused where they change the numbers."""

from collections.abc import Mapping

from daskdl.dl4j.network.layer_row import LayerRow
from daskdl.errors import FormatError
from daskdl.nn.conf.defaults import NetworkConf
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.vertex import VertexConf

# What stands beside a layer or vertex in DL4J's files, or is written elsewhere.
_BESIDE = {"type", "dl4j", "name", "inputs", "preprocessor"}
# A kind that does not write an option of these does not use it either.
_SHARED = set(NetworkConf.model_fields)


def refuse_unsupported_options(
    conf: LayerConf | VertexConf, rows: Mapping[str, LayerRow]
) -> None:
    """Refuse a layer or vertex that DL4J would read as another.

    Parameters
    ----------
    conf : LayerConf or VertexConf
        As it is in the network.
    rows : mapping of str to LayerRow
        By `type`; kinds that are not among them pass.

    Raises
    ------
    FormatError
        If an option that DL4J cannot be told differs from what DL4J does.
    """
    tag = type(conf).model_fields["type"].default
    row = rows.get(tag)
    if row is None:
        return
    said = row.options | _BESIDE | _SHARED
    for name, field in type(conf).model_fields.items():
        usual = field.get_default(call_default_factory=True)
        if (field.alias or name) not in said and getattr(conf, name) != usual:
            raise FormatError(
                f"DL4J: {tag} must have {name} {usual}, which DL4J cannot be told "
                f"otherwise, got {getattr(conf, name)}. Save the network in daskdl's "
                "own format."
            )

"""Vertices of graphs in DL4J's JSON."""

from collections.abc import Mapping
from typing import Any

from daskdl.dl4j.network.enumerations import NORMALIZATION, enumeration
from daskdl.dl4j.network.functions import ENUMERATED_INIT
from daskdl.dl4j.network.json_objects import (
    GROUP,
    Codec,
    JavaClass,
    Json,
    Key,
    expect_mapping,
    registered,
    shown,
)
from daskdl.dl4j.network.layer_keys import keys
from daskdl.dl4j.network.layer_row import LayerRow
from daskdl.dl4j.network.preprocessors import PREPROCESSOR
from daskdl.dl4j.network.training import UPDATER
from daskdl.errors import FormatError

PACKAGE = "org.deeplearning4j.nn.conf.graph."


def _underlying(value: Json, where: str) -> Any:
    return read_vertex(value, where)


def _row(
    name: str,
    tag: str,
    properties: Mapping[str, Key] | None = None,
    ignored: Mapping[str, Json] | None = None,
    *,
    folder: str = "",
    is_regularized: bool = False,
) -> LayerRow:
    java = JavaClass(name, tag, properties or {}, (), ignored or {})
    return LayerRow(java, PACKAGE + folder, is_regularized)


_ROWS = [
    _row("MergeVertex", "merge", keys(mergeAxis="merge_axis"), {"modified": False}),
    _row(
        "ElementWiseVertex",
        "element_wise",
        {
            "op": Key(
                "op",
                enumeration("add", "subtract", "product", "average", "max", title=True),
            )
        },
    ),
    _row("SubsetVertex", "subset", {"from": Key("from"), "to": Key("to")}),
    _row("StackVertex", "stack"),
    _row(
        "UnstackVertex",
        "unstack",
        {"from": Key("from"), **keys(stackSize="stack_size")},
    ),
    _row("ScaleVertex", "scale", keys(scaleFactor="scale_factor")),
    _row("ShiftVertex", "shift", keys(shiftFactor="shift_factor")),
    _row("L2NormalizeVertex", "l2_normalize", keys(dimension="dimensions", eps="eps")),
    _row("L2Vertex", "l2"),
    _row(
        "ReshapeVertex",
        "reshape",
        keys(maskShape="mask_shape", newShape="new_shape", reshapeOrder="order"),
    ),
    _row("PoolHelperVertex", "pool_helper"),
    _row(
        "PreprocessorVertex",
        "preprocessor",
        {"preProcessor": Key("preprocessor", PREPROCESSOR)},
    ),
    _row(
        "FrozenVertex",
        "frozen_vertex",
        {
            "underlying": Key(
                "vertex", Codec(_underlying, lambda value: write_vertex(value))
            )
        },
    ),
    _row(
        "AttentionVertex",
        "attention",
        {
            **keys(
                headSize="head_size",
                nheads="n_heads",
                ninKeys="n_in_keys",
                ninQueries="n_in_queries",
                ninValues="n_in_values",
                nout="n_out",
                projectInput="project_input",
                gradientNormalizationThreshold="gradient_normalization_threshold",
            ),
            "biasUpdater": Key("bias_updater", UPDATER),
            "gradientNormalization": Key("gradient_normalization", NORMALIZATION),
            "updater": Key("updater", UPDATER),
            "weightInit": Key("weight_init", ENUMERATED_INIT),
        },
        {"dataType": None, "layerName": None, "name": None, "vertexParams": None},
        is_regularized=True,
    ),
    _row(
        "LastTimeStepVertex",
        "last_time_step",
        keys(maskArrayInputName="mask_input"),
        folder="rnn.",
    ),
    _row(
        "DuplicateToTimeSeriesVertex",
        "duplicate_to_time_series",
        keys(inputName="input_name"),
        folder="rnn.",
    ),
    _row(
        "ReverseTimeSeriesVertex",
        "reverse_time_series",
        keys(maskArrayInputName="mask_input"),
        folder="rnn.",
    ),
]
_BY_NAME = {f"{row.package}{row.java.name}": row for row in _ROWS}
BY_TAG = {row.java.tag: row for row in _ROWS}


def read_vertex(value: Json, where: str) -> dict[str, Any]:
    """Return the mapping of a vertex that is no layer.

    Raises
    ------
    FormatError
        If the class is no vertex known here.
    """
    mapping = expect_mapping(value, where)
    full = str(mapping.get("@class"))
    row = _BY_NAME.get(full)
    if row is not None:
        return row.read(mapping, where)
    read = registered(full)
    if read is not None:
        vertex: dict[str, Any] = read(mapping, where)
        return vertex
    raise FormatError(
        f"{where}: must be a vertex that is known here, got "
        f"{shown(mapping.get('@class'))}. Register a reader of that class in the "
        f"entry-point group {GROUP!r}."
    )


def write_vertex(vertex: Mapping[str, Any]) -> dict[str, Json]:
    """Return the object of DL4J that describes a vertex given as a mapping."""
    row = BY_TAG.get(vertex["type"])
    if row is None:
        raise FormatError(
            f"DL4J: has no vertex {vertex['type']!r}. Save the network in daskdl's own "
            "format."
        )
    return row.write(vertex)

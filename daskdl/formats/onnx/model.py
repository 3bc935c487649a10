"""Writing a network as an ONNX model, which other programs run.

Only the forward pass goes there, from data as they are to predictions in their units:
no updater state, no counters, no loss.
"""

import json
import os
from importlib.metadata import version
from typing import Any

import numpy as np

from daskdl.data.files import write_output
from daskdl.errors import FormatError, MissingExtraError
from daskdl.formats.onnx.graph import Graph
from daskdl.formats.onnx.network import input_names, network_graph, output_names
from daskdl.nn.conf.input_type import (
    Convolutional,
    Convolutional3D,
    InputType,
    Recurrent,
)
from daskdl.nn.network import Network
from daskdl.nn.normalizing import NormalizerChoice, fitted_normalizer
from daskdl.option_types import with_checked_types

__all__ = ["export_onnx", "to_model"]

# Opset 18 has all operators with axes as inputs; runtimes know it since 2023.
_OPSET = 18
_IR_VERSION = 8
# A message of protobuf has at most 2 GiB.
_MOST_BYTES = (1 << 31) - (1 << 20)


@with_checked_types
def export_onnx(
    network: Network[Any],
    path_or_url: str | os.PathLike[str],
    *,
    normalizer: NormalizerChoice = "own",
    overwrite: bool = False,
) -> None:
    """Write a network as ONNX, opset 18, in float32.

    Parameters
    ----------
    network : MultiLayerNetwork or ComputationGraph
        Its forward pass in inference mode is written, without masks. Not changed.
    path_or_url : str or path
        A plain path, ``file://``, ``hdfs://``, or what else fsspec opens.
    normalizer : Normalizer, None or "own"
        The first operators of the model; None for features that are normalized already.
    overwrite : bool
        Replace what is there.

    Raises
    ------
    FormatError
        If ONNX has no form for a layer, a vertex or an option; nothing is written.
    MissingExtraError
        If the package onnx is not installed.
    OutputExistsError
        If something is there and `overwrite` is False.
    """
    content = to_model(network, normalizer=normalizer).SerializeToString()
    write_output(path_or_url, lambda out: out.write(content), overwrite=overwrite)


def to_model(network: Network[Any], *, normalizer: NormalizerChoice = "own") -> Any:
    """Return a network as an ``onnx.ModelProto``, checked.

    Parameters
    ----------
    network : MultiLayerNetwork or ComputationGraph
        Not changed.
    normalizer : Normalizer, None or "own"
        As for :func:`export_onnx`.

    Returns
    -------
    onnx.ModelProto
        Inputs and outputs have the names of those of a graph, or ``input`` and
        ``output``, and the data formats of the network; ``batch`` is open, and so are
        lengths of series and sizes of images that the configuration leaves open. Names
        of classes stand in its metadata as ``class_names``, in JSON.

    Raises
    ------
    FormatError, MissingExtraError
        As :func:`export_onnx`.
    """
    onnx = _imported()
    graph = network_graph(
        network, fitted_normalizer("ONNX", network.normalizer, normalizer)
    )
    n_bytes = sum(values.nbytes for values in graph.constants.values())
    if n_bytes > _MOST_BYTES:
        raise FormatError(
            f"ONNX: the parameters must take at most {_MOST_BYTES} bytes in one file, "
            f"got {n_bytes}."
        )
    model = onnx.helper.make_model(
        _graph_message(onnx, network, graph),
        opset_imports=[onnx.helper.make_opsetid("", _OPSET)],
        producer_name="daskdl",
        producer_version=version("daskdl"),
        ir_version=_IR_VERSION,
    )
    if network.class_names is not None:
        names = json.dumps(network.class_names)
        onnx.helper.set_model_props(model, {"class_names": names})
    onnx.checker.check_model(model, full_check=True)
    return model


def _graph_message(onnx: Any, network: Network[Any], graph: Graph) -> Any:
    nodes = [
        onnx.helper.make_node(
            node.kind, node.inputs, node.outputs, name=node.name, **node.attributes
        )
        for node in graph.operators
    ]
    constants = [
        onnx.numpy_helper.from_array(np.ascontiguousarray(values), name)
        for name, values in graph.constants.items()
    ]
    outputs = [spec.type for spec in network.outputs]
    return onnx.helper.make_graph(
        nodes,
        type(network).__name__,
        _ports(onnx, input_names(network), network.input_types),
        _ports(onnx, output_names(network), outputs, is_output=True),
        constants,
    )


def _ports(
    onnx: Any, names: list[str], types: list[InputType], *, is_output: bool = False
) -> list[Any]:
    """Return inputs or outputs with their types; sizes that are open have names.

    They differ from input to input, and those of an output from all: layers may have
    changed them.
    """
    has_own = is_output or len(names) > 1
    return [
        onnx.helper.make_tensor_value_info(
            name,
            onnx.TensorProto.FLOAT,
            ["batch", *_sizes(f"{name}_" if has_own else "", input_type)],
        )
        for name, input_type in zip(names, types, strict=True)
    ]


def _sizes(prefix: str, input_type: InputType) -> list[int | str]:
    """Return the sizes of an example in its data format, or names for open ones."""
    return [
        f"{prefix}{axis}" if size is None else size
        for axis, size in zip(_axes(input_type), input_type.border_shape, strict=True)
    ]


def _axes(input_type: InputType) -> list[str]:
    if isinstance(input_type, Recurrent):
        inside = ["time", "features"]
    elif isinstance(input_type, Convolutional):
        inside = ["height", "width", "channels"]
    elif isinstance(input_type, Convolutional3D):
        inside = ["depth", "height", "width", "channels"]
    else:
        return ["features"]
    data_format = input_type.data_format
    return [*inside[-1:], *inside[:-1]] if data_format[1] == "C" else inside


def _imported() -> Any:
    try:
        import onnx
    except ImportError as error:
        raise MissingExtraError(
            "ONNX: the package onnx must be installed. Run: pip install 'daskdl[onnx]'"
        ) from error
    return onnx

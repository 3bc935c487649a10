"""Facts about a network: its table for people, JSON for programs."""

from collections.abc import Mapping, Sequence
from typing import Any

from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.network import (
    ComputationGraphConfiguration,
    MultiLayerConfiguration,
)
from daskdl.nn.conf.topology import Node
from daskdl.nn.conf.yaml import dump_yaml
from daskdl.nn.network import Network
from daskdl.nn.summary import layer_rows, normalizer_in_words, summarize

__all__ = ["Configuration", "configuration_facts", "configuration_lines"]
__all__ += ["training_facts", "training_lines"]

Configuration = MultiLayerConfiguration | ComputationGraphConfiguration


def configuration_facts(conf: Configuration) -> dict[str, Any]:
    """Return layers, losses and sizes of a network, for JSON."""
    nodes = conf.nodes()
    rows = layer_rows(nodes)
    return {
        "network": _kind(conf),
        "parameters": sum(row.n_params for row in rows),
        "dtype": conf.dtype,
        "dialect": conf.dialect,
        "inputs": {name: str(input_type) for name, input_type in _inputs(conf).items()},
        "layers": [
            {
                "name": row.name,
                "type": row.kind,
                "reads": list(node.inputs),
                "in": row.inputs,
                "out": row.output,
                "parameters": row.n_params,
                "shapes": row.parameters,
            }
            for node, row in zip(nodes, rows, strict=True)
        ],
        "losses": _losses(nodes),
        "updaters": _updaters(nodes),
    }


def configuration_lines(conf: Configuration) -> list[str]:
    """Return the table, losses and updaters of a network, for people."""
    nodes = conf.nodes()
    losses = ", ".join(f"{name} {loss}" for name, loss in _losses(nodes).items())
    return [
        summarize(_kind(conf), nodes),
        "",
        *(_input_line(conf, name) for name in _inputs(conf)),
        f"loss: {losses or 'none'}",
        f"updater: {'; '.join(_updaters(nodes)) or 'none'}",
        f"numbers: {conf.dtype}",
        f"dialect: {conf.dialect}",
    ]


def training_facts(network: Network[Any]) -> dict[str, Any]:
    """Return iterations, epochs and score of a network, for JSON."""
    score, normalizer, names = network.score, network.normalizer, network.class_names
    return {
        "outputs": list(network.output_layer_n_out),
        "iterations": network.iteration_count,
        "epochs": network.epoch_count,
        # JSON has no word for what is no number.
        "score": score if abs(score) < float("inf") else None,
        "updater_state": int(network.updater_state.size),
        "normalizer": normalizer_in_words(normalizer) if normalizer else None,
        "class_names": list(names) if names else None,
    }


def training_lines(facts: Mapping[str, Any]) -> list[str]:
    """Return the result of :func:`training_facts` as lines for people."""
    trained = f"trained: {facts['epochs']:,} epochs, {facts['iterations']:,} iterations"
    if facts["score"] is not None:
        trained += f", score {facts['score']:.6g}"
    return [
        trained,
        f"updater state: {facts['updater_state']:,} numbers",
        f"normalizer: {facts['normalizer'] or 'none'}",
        f"classes: {', '.join(facts['class_names'] or ['not named'])}",
    ]


def _kind(conf: Configuration) -> str:
    is_sequence = isinstance(conf, MultiLayerConfiguration)
    return "MultiLayerNetwork" if is_sequence else "ComputationGraph"


def _input_line(conf: Configuration, name: str) -> str:
    label = "input" if isinstance(conf, MultiLayerConfiguration) else f"input {name}"
    return f"{label}: {_inputs(conf)[name]}"


def _inputs(conf: Configuration) -> Mapping[str, Any]:
    if isinstance(conf, MultiLayerConfiguration):
        return {"input": conf.input}
    return conf.inputs


def _losses(nodes: Sequence[Node]) -> dict[str, str]:
    """Return the name of the loss of each output layer."""
    found = {}
    for node in nodes:
        if isinstance(node.conf, LayerConf) and node.conf.is_output:
            loss = getattr(node.conf, "loss", "its own")
            found[node.name] = str(getattr(loss, "type", loss))
    return found


def _updaters(nodes: Sequence[Node]) -> list[str]:
    """Return each updater that some parameter has, with the options that matter."""
    found: dict[str, None] = {}
    for node in nodes:
        trained = node.conf.trained if node.parameters else None
        for option in ("updater", "bias_updater"):
            updater = getattr(trained, option, None)
            if updater is not None:
                found[dump_yaml(updater.model_dump(mode="json")).strip()] = None
    return list(found)

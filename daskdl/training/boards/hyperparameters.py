"""What a fit was begun with, by name, as boards compare runs: flat, all of it text."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from daskdl.nn.fitting.fit import Fit

__all__ = ["hyperparameters"]

# With more, nobody finds the learning rate among the layers.
MOST_PARAMETERS = 300
# A layer's name is in front of its options; what only a file of DL4J needs is none.
_NO_OPTIONS = ("name", "dl4j")


def hyperparameters(fit: Fit) -> dict[str, str]:
    """Return what network, data and training master of a fit were given.

    Parameters
    ----------
    fit : Fit
        As it begins.

    Returns
    -------
    dict of str to str
        Names have dots between their parts: ``updater`` is its type,
        ``updater.learning_rate`` its option. Of the configuration what has its default
        is left out, but for the updater; options of layers are left out as well where
        all were more than 300.
    """
    network, plan = fit.network, fit.plan()
    conf = network.conf.to_dict(compact=True)
    conf["updater"] = network.conf.to_dict()["updater"]
    layers = {name: conf.pop(name) for name in ("layers", "vertices") if name in conf}
    given = {
        "network": type(network).__name__,
        "n_params": network.n_params,
        "seed": plan.seed,
        "epochs": fit.epochs,
        "batch_size": plan.batch_size,
        "shuffle": plan.shuffle,
        "normalizer": plan.normalizer,
        "workers": fit.workers or None,
        "data": {
            "examples": plan.data.examples,
            "minibatches": plan.data.minibatches,
        },
        "master": fit.master,
        **{name: value for name, value in conf.items() if name != "seed"},
    }
    found = dict(_flat("", given))
    of_layers = dict(_flat("", layers))
    if len(found) + len(of_layers) <= MOST_PARAMETERS:
        found |= of_layers
    return found


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield names and texts; nothing of what is not given, or empty."""
    if is_dataclass(value) and not isinstance(value, type):
        yield name, type(value).__name__
        value = {one.name: getattr(value, one.name) for one in fields(value)}
    if isinstance(value, Mapping):
        yield from _flat_mapping(name, value)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield from _flat_sequence(name, value)
    elif value is not None:
        yield name, str(value)


def _flat_mapping(name: str, value: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, one in value.items():
        if key not in _NO_OPTIONS:
            # The type of an updater is what people mean by its name.
            is_kind = key == "type" and bool(name)
            yield from _flat(name if is_kind else _below(name, key), one)


def _flat_sequence(name: str, value: Sequence[Any]) -> Iterator[tuple[str, str]]:
    if all(isinstance(one, str | int | float) for one in value):
        if value:
            yield name, json.dumps(list(value))
        return
    for number, one in enumerate(value):
        given = one.get("name") if isinstance(one, Mapping) else None
        yield from _flat(_below(name, given or str(number)), one)


def _below(name: str, key: str) -> str:
    return f"{name}.{key}" if name else key

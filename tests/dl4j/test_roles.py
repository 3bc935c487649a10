"""Each parameter of each layer is treated as DL4J's ``ParamInitializer`` says."""

import pytest

from daskdl.dl4j.network import model_zip
from daskdl.nn.layers.wrapper import WrapperConf
from daskdl.nn.vectors import layer_spans
from tests.dl4j.layer_networks import SEQUENCES
from tests.dl4j.trials import built

L2 = {"l2": 0.25, "l2_bias": 0.5}
UPDATERS = {
    "updater": {"type": "nesterovs", "learning_rate": 0.1},
    "bias_updater": {"type": "adagrad", "learning_rate": 0.1},
}


def first_of_each_kind():
    """Return networks, one at least with each kind of layer that is in no wrapper.

    Wrappers answer for their parameters as the layer in them does, or not at all.
    """
    seen, names = set(), []
    for name, trial in SEQUENCES.items():
        kinds = {type(layer) for layer in trial.conf.layers}
        if kinds - seen and not any(issubclass(k, WrapperConf) for k in kinds):
            seen |= kinds
            names.append(name)
    # Options that add parameters.
    return [*names, "dense, layer norm", "batch normalization, locked"]


@pytest.mark.parametrize("name", first_of_each_kind())
def test_roles(dl4j, name, rng, tmp_path):
    conf = SEQUENCES[name].conf.replaced(**L2, **UPDATERS)
    network = built(conf, "float32", rng)
    path = tmp_path / "model.zip"
    model_zip.save(network, path)
    assert ours(network) == dl4j.ask("roles", model=path, dtype="float32")


def ours(network):
    """Return what the network does with each parameter, by DL4J's names."""
    groups = {
        f"{node.key}_{item.name}": sorted(item.treatment.groups)
        for node in network.nodes
        for item in node.parameters
    }
    names = {"adagrad": "AdaGrad", "nesterovs": "Nesterovs", "noop": "NoOp"}
    return {
        role.slot.name: {
            "updater": names[role.updater.type],
            "l2": role.penalty.l2,
            "groups": groups[role.slot.name],
            "pretraining": role.is_pretraining,
        }
        for stretch in layer_spans(network.layout, network.nodes)
        for role in stretch.roles
    }

"""Configurations that we wrote: the real DL4J reads them and writes the same text."""

import pytest

from daskdl.dl4j.network.text import configuration_to_text
from daskdl.nn.graph import ComputationGraph
from daskdl.nn.multilayer import MultiLayerNetwork
from tests.dl4j.graph_networks import GRAPHS
from tests.dl4j.layer_networks import SEQUENCES
from tests.dl4j.option_networks import OPTIONS
from tests.dl4j.training_networks import TRAININGS

NETWORKS = {
    **{name: trial.conf for name, trial in {**SEQUENCES, **GRAPHS, **OPTIONS}.items()},
    **TRAININGS,
}


@pytest.mark.parametrize("style", ["json", "yaml"])
@pytest.mark.parametrize("name", NETWORKS)
def test_text(dl4j, name, style, tmp_path):
    conf = NETWORKS[name]
    is_graph = not hasattr(conf, "layers")
    network = (ComputationGraph if is_graph else MultiLayerNetwork)(conf)
    texts = {way: configuration_to_text(network, way) for way in ("json", "yaml")}
    path = tmp_path / "configuration"
    path.write_text(texts[style], "utf-8")
    answer = dl4j.ask("configuration", path=path, style=style, is_graph=is_graph)
    assert answer["json"] == texts["json"]
    assert answer["yaml"] == texts["yaml"]

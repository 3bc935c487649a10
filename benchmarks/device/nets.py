"""What both peers train on a device. Standard library only."""

from dataclasses import replace

from benchmarks.serve.shapes import NETS, Net

NAMES = ("lenet", "mlp", "lstm", "resnet", "resnet50")
# A device is not full of what fills a core.
_BATCHES = {"resnet50": 64}
# Of a figure: how many steps are timed together, and how often.
STEPS = {"resnet50": 5, "resnet": 30}
USUAL_STEPS = 100
REPEATS = 7
WARM_UPS = 5


def net_named(name: str) -> Net:
    """Return a network with the minibatch that it has here."""
    net = NETS[name]
    batch = _BATCHES.get(name, net.features[0])
    return replace(net, features=(batch, *net.features[1:]))

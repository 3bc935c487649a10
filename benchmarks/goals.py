"""What the figures are to reach: the right-hand side of every comparison."""

from benchmarks.serve.layer_shapes import LAYER
from benchmarks.serve.shapes import (
    ARRAYS,
    CODER,
    CSV,
    DATA,
    MEMORY,
    MINIBATCHES,
    NETS,
    READING,
    START,
    THRESHOLD,
    VECTORS,
)

# No slower than PyTorch.
_EVEN = {"torch": 1.0}
_FIT = {
    "lenet": {"torch": 0.50, "dl4j-repaired": 0.22, "dl4j": 0.06, "limit": 0.50},
    "mlp": {"torch": 0.55, "dl4j-repaired": 0.45, "dl4j": 0.45, "limit": 0.65},
    "lstm": {"torch": 0.80, "dl4j-repaired": 0.15, "dl4j": 0.15, "limit": 0.60},
    "resnet": {"torch": 0.80, "dl4j-repaired": 0.20, "dl4j": 0.03, "limit": 0.45},
    **dict.fromkeys(("resnet50", "lstm3", "embedding", "tabular", "attention"), _EVEN),
}
_OUTPUT = {"torch": 0.75, "dl4j-repaired": 0.6, "dl4j": 0.2}
_MEMORY = {"torch": 1.0}
# MiB: 100 an example.
_RESNET50_MEMORY = 800.0
_LAYER = {"torch": 1.5}
# For the longer vector, which does not stay in a cache.
_ENCODE = {"dl4j": 0.18, "limit": 0.85}
# Bits an index: of DL4J's 32, and the share that cannot be saved.
_CODER = {"": 0.45 * 32, "limit": 1 / 1.05}
# Seconds from the first step's end to where a second one would have ended.
_START = {"lenet cold": 20.0, "lenet warm": 0.3}
# Of the speed of a scan: vectors are twice as long there as what becomes of them.
_READING = {
    VECTORS: {"pyarrow": 1 / 0.8},
    ARRAYS: {"pyarrow": 1 / 0.95},
    CSV: {"pyarrow": 1 / 0.95},
    # Milliseconds: 2e9 bytes a second.
    MINIBATCHES: {"": 25.2},
}
# Each part is read once an epoch, and some again where a share ends inside of one.
_DATA = {"loads of a part": 1.25}


def goal(case: str, what: str, against: str) -> float | None:
    """Return what is good enough, or None where there is no goal.

    Parameters
    ----------
    case, what : str
        The work.
    against : str
        A peer: the largest ratio. "limit": the smallest share of what the machine can
        do. Nothing: the largest figure of ours, in its own unit.
    """
    if case == START:
        return _START.get(what) if not against else None
    table = {
        (THRESHOLD, "encode-10M"): _ENCODE,
        **{(net, "fit"): goals for net, goals in _FIT.items()},
        **{
            (net, "output"): _EVEN if goals is _EVEN else _OUTPUT
            for net, goals in _FIT.items()
        },
        **{(MEMORY, net): _MEMORY for net in NETS},
        **{(READING, what): goals for what, goals in _READING.items()},
        (MEMORY, "resnet50"): {**_MEMORY, "": _RESNET50_MEMORY},
    }
    if case == DATA:
        return _DATA.get(what)
    by_case = {LAYER: _LAYER, CODER: _CODER}
    return table.get((case, what), by_case.get(case, {})).get(against)

"""PyTorch's steps: ``python -m benchmarks.device.peer_torch NET`` prints milliseconds.

Of its memory formats, and of its choices of algorithms, the fastest counts.
"""

import json
import os
import sys
from collections.abc import Callable
from itertools import product
from typing import Any

import torch
from torch.nn import functional

from benchmarks.device.nets import WARM_UPS, milliseconds, net_named
from benchmarks.serve.shapes import CHANNELS_LAST
from benchmarks.serve.torch_nets import _NETWORKS, _TIME_FIRST, _VARIANTS

EAGER, GRAPH, FROM_HOST = "eager", "graph", "graph, from the host"


def main() -> None:
    """Time a network in all its ways."""
    (name,) = sys.argv[1:]
    uses_tf32 = os.environ.get("DASKDL_GPU_MATH") == "tf32"
    torch.backends.cudnn.allow_tf32 = uses_tf32
    torch.backends.cuda.matmul.allow_tf32 = uses_tf32
    best: dict[str, float] = {}
    for variant, tries in product(_VARIANTS[name], (False, True)):
        torch.backends.cudnn.benchmark = tries
        for way, time_ms in Steps(name, variant).timed().items():
            best[way] = min(time_ms, best.get(way, time_ms))
    free, total = torch.cuda.mem_get_info()
    sys.stdout.write(json.dumps({**best, "MiB": (total - free) >> 20}))


class Steps:
    """A network of a variant, and its minibatch on the device."""

    def __init__(self, name: str, variant: str) -> None:
        torch.manual_seed(0)
        net = net_named(name)
        parts, self._forward = _NETWORKS[name](variant)
        self._name, self._parts = name, parts.to("cuda")
        x = torch.randn(net.features)
        if variant == CHANNELS_LAST:
            self._parts = self._parts.to(memory_format=torch.channels_last)
            x = x.to(memory_format=torch.channels_last)
        if x.dim() == 3:
            order = (2, 0, 1) if variant == _TIME_FIRST else (0, 2, 1)
            x = x.permute(order).contiguous()
        labels = torch.randint(0, net.n_classes, net.label_axes)
        self._host = (x.pin_memory(), labels.pin_memory())
        self._x, self._labels = x.to("cuda"), labels.to("cuda")
        self._updater = torch.optim.SGD(
            parts.parameters(), lr=0.001, momentum=0.9, nesterov=True, fused=True
        )

    def step(self) -> None:
        """Train the minibatch once."""
        self._updater.zero_grad()
        found = self._forward(self._x)
        functional.cross_entropy(found, self._labels.reshape(-1)).backward()
        self._updater.step()

    def timed(self) -> dict[str, float]:
        """Return the time of a step in each way."""
        found = {EAGER: self._milliseconds(self.step)}
        graph = self._captured()

        def from_host() -> None:
            self._x.copy_(self._host[0], non_blocking=True)
            self._labels.copy_(self._host[1], non_blocking=True)
            graph.replay()

        found[GRAPH] = self._milliseconds(graph.replay)
        found[FROM_HOST] = self._milliseconds(from_host)
        return found

    def _captured(self) -> Any:
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(WARM_UPS):
                self.step()
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.step()
        return graph

    def _milliseconds(self, step: Callable[[], Any]) -> float:
        return milliseconds(self._name, step, torch.cuda.synchronize)


if __name__ == "__main__":
    main()

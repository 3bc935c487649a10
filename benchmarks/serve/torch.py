"""PyTorch at work: the process of the peer of that name."""

import os
import platform
from typing import Any

import torch

from benchmarks.serve import torch_nets
from benchmarks.serve.layer_shapes import LAYER, LAYER_CASES, N_NUMBERS, LayerCase
from benchmarks.serve.loop import Offers, Work, serve
from benchmarks.serve.shapes import CHANNELS_LAST, NCHW
from benchmarks.serve.torch_layers import EXPRESSIONS, Expression
from benchmarks.serve.torch_series import CAPSULE_EXPRESSIONS, SERIES_EXPRESSIONS

_ALL: dict[str, Expression] = EXPRESSIONS | SERIES_EXPRESSIONS | CAPSULE_EXPRESSIONS
_FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}


def main() -> None:
    """Answer, with as many threads as the environment says."""
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    torch.manual_seed(0)
    versions = {"python": platform.python_version(), "torch": torch.__version__}
    offers: Offers = [
        (LAYER, kind, variant)
        for kind, case in LAYER_CASES.items()
        if kind in _ALL
        for variant in ((NCHW, CHANNELS_LAST) if len(case.shape) > 2 else ("",))
    ]
    serve(versions, [*torch_nets.OFFERS, *offers], make)


def make(case: str, what: str, variant: str) -> Work:
    """Return what is to be timed."""
    if case == LAYER:
        return _layer(LAYER_CASES[what], variant)
    return torch_nets.make(case, what, variant)


def _layer(case: LayerCase, variant: str) -> Work:
    """Return forward and backward of a layer, into its input too."""
    x = _features(case)
    forward, parameters = _ALL[case.kind](case, x)
    if variant == CHANNELS_LAST:
        x = x.contiguous(memory_format=_FORMATS[x.dim()])
        for parameter in parameters:
            if parameter.dim() == x.dim():
                parameter.data = parameter.contiguous(
                    memory_format=_FORMATS[x.dim()]
                ).detach()
    if case.kind == "frozen":
        # Nothing below learns either: nobody asks for a gradient.
        return Work(lambda: forward(x))
    wanted = list(parameters)
    if not case.is_numbers:
        wanted.insert(0, x.requires_grad_())
    output = forward(x)
    grad_out = torch.randn_like(output) if output.dim() else None
    return Work(lambda: torch.autograd.grad(forward(x), wanted, grad_out))


def _features(case: LayerCase) -> Any:
    if case.is_numbers:
        return torch.randint(0, N_NUMBERS, (case.batch, *case.shape))
    x = torch.randn(case.batch, *case.shape)
    if case.kind in SERIES_EXPRESSIONS:
        return x.transpose(1, 2).contiguous()
    return x


if __name__ == "__main__":
    main()

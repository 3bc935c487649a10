"""The residual networks of :mod:`benchmarks.serve.shapes` in PyTorch."""

from collections.abc import Callable
from typing import Any

from torch import nn
from torch.nn import functional

from benchmarks.serve.shapes import RESNET50_STAGES

Forward = Callable[[Any], Any]


def resnet(variant: str) -> tuple[Any, Forward]:
    """Return three residual blocks of 16, 32 and 64 channels on 32 x 32 images."""
    stem = nn.Sequential(_normalized(3, 16, 3), nn.ReLU())
    blocks = [_block(16, 16, 1), _block(16, 32, 2), _block(32, 64, 2)]
    return _network(stem, blocks, nn.Linear(64, 10))


def resnet50(variant: str) -> tuple[Any, Forward]:
    """Return ResNet-50, first version: a block strides in its first convolution."""
    stem = nn.Sequential(
        _normalized(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
    )
    blocks, n_in = [], 64
    for n_blocks, width, stride in RESNET50_STAGES:
        for number in range(n_blocks):
            blocks.append(_bottleneck(n_in, width, stride if number == 0 else 1))
            n_in = 4 * width
    return _network(stem, blocks, nn.Linear(n_in, 1000))


def _network(
    stem: Any, blocks: list[tuple[Any, Forward]], classes: Any
) -> tuple[Any, Forward]:
    parts = nn.ModuleList([stem, *(part for part, _ in blocks), classes])

    def forward(x: Any) -> Any:
        x = stem(x)
        for _, through in blocks:
            x = through(x)
        return classes(x.mean((2, 3)))

    return parts, forward


def _block(n_in: int, n_out: int, stride: int) -> tuple[Any, Forward]:
    return _residual(
        [_normalized(n_in, n_out, 3, stride), _normalized(n_out, n_out, 3)],
        nn.Identity() if stride == 1 else _normalized(n_in, n_out, 1, stride),
    )


def _bottleneck(n_in: int, width: int, stride: int) -> tuple[Any, Forward]:
    is_same = n_in == 4 * width
    return _residual(
        [
            _normalized(n_in, width, 1, stride),
            _normalized(width, width, 3),
            _normalized(width, 4 * width, 1),
        ],
        nn.Identity() if is_same else _normalized(n_in, 4 * width, 1, stride),
    )


def _residual(convolutions: list[Any], shortcut: Any) -> tuple[Any, Forward]:
    *first, last = convolutions

    def forward(x: Any) -> Any:
        y = x
        for convolution in first:
            y = functional.relu(convolution(y), inplace=True)
        return functional.relu(last(y) + shortcut(x), inplace=True)

    return nn.ModuleList([*convolutions, shortcut]), forward


def _normalized(n_in: int, n_out: int, kernel_size: int, stride: int = 1) -> Any:
    return nn.Sequential(
        nn.Conv2d(n_in, n_out, kernel_size, stride, kernel_size // 2, bias=False),
        nn.BatchNorm2d(n_out),
    )

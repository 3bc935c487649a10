"""The networks of :mod:`benchmarks.serve.shapes` in PyTorch."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from benchmarks.serve.loop import Offers, Work
from benchmarks.serve.shapes import CHANNELS_LAST, FIT, NCHW, NETS, OUTPUT

_TIME_FIRST = "time_first"
_BATCH_FIRST = "batch_first"
_VARIANTS = {
    "lenet": (NCHW, CHANNELS_LAST),
    "mlp": ("",),
    "lstm": (_BATCH_FIRST, _TIME_FIRST),
    "resnet": (NCHW, CHANNELS_LAST),
}
OFFERS: Offers = [
    (net, what, variant)
    for net in NETS
    for what in (FIT, OUTPUT)
    for variant in _VARIANTS[net]
]

Forward = Callable[[Any], Any]


def make(case: str, what: str, variant: str) -> Work:
    """Return a training step or a forward pass of a network."""
    net = NETS[case]
    parts, forward = _NETWORKS[case](variant)
    features = torch.randn(net.features)
    labels = torch.randint(0, net.n_classes, net.label_axes)
    if variant == CHANNELS_LAST:
        parts = parts.to(memory_format=torch.channels_last)
        features = features.to(memory_format=torch.channels_last)
    if case == "lstm":
        # (batch, classes, time), as elsewhere, to what torch's layer wants.
        order = (2, 0, 1) if variant == _TIME_FIRST else (0, 2, 1)
        features = features.permute(order).contiguous()
    if what == OUTPUT:
        parts.eval()
        return Work(lambda: _inference(forward, features))
    updater = torch.optim.SGD(
        parts.parameters(), lr=0.001, momentum=0.9, nesterov=True, fused=True
    )

    def step() -> None:
        updater.zero_grad()
        functional.cross_entropy(forward(features), labels.reshape(-1)).backward()
        updater.step()

    return Work(step)


def _inference(forward: Forward, features: Any) -> Any:
    with torch.inference_mode():
        return functional.softmax(forward(features), dim=-1)


def lenet(variant: str) -> tuple[Any, Forward]:
    """Return DL4J's LeNet example: conv 20, pool, conv 50, pool, dense 500."""
    model = nn.Sequential(
        nn.Conv2d(1, 20, 5),
        nn.MaxPool2d(2),
        nn.Conv2d(20, 50, 5),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(800, 500),
        nn.ReLU(),
        nn.Linear(500, 10),
    )
    return model, model


def mlp(variant: str) -> tuple[Any, Forward]:
    """Return 784-1000-1000-10."""
    model = nn.Sequential(
        nn.Linear(784, 1000),
        nn.ReLU(),
        nn.Linear(1000, 1000),
        nn.ReLU(),
        nn.Linear(1000, 10),
    )
    return model, model


def lstm(variant: str) -> tuple[Any, Forward]:
    """Return two LSTM layers of 200 on time series of 77 features."""
    recurrent = nn.LSTM(77, 200, 2, batch_first=variant == _BATCH_FIRST)
    classes = nn.Linear(200, 77)
    parts = nn.ModuleList([recurrent, classes])
    return parts, lambda x: classes(recurrent(x)[0]).reshape(-1, 77)


def resnet(variant: str) -> tuple[Any, Forward]:
    """Return three residual blocks of 16, 32 and 64 channels on 32 x 32 images."""
    stem = nn.Sequential(_normalised(3, 16, 1), nn.ReLU())
    blocks = [_block(16, 16, 1), _block(16, 32, 2), _block(32, 64, 2)]
    classes = nn.Linear(64, 10)
    parts = nn.ModuleList([stem, *(part for part, _ in blocks), classes])

    def forward(x: Any) -> Any:
        x = stem(x)
        for _, through in blocks:
            x = through(x)
        return classes(x.mean((2, 3)))

    return parts, forward


def _block(n_in: int, n_out: int, stride: int) -> tuple[Any, Forward]:
    first = _normalised(n_in, n_out, stride)
    second = _normalised(n_out, n_out, 1)
    shortcut = nn.Identity() if stride == 1 else _normalised(n_in, n_out, stride, 1)

    def forward(x: Any) -> Any:
        y = second(functional.relu(first(x), inplace=True))
        return functional.relu(y + shortcut(x), inplace=True)

    return nn.ModuleList([first, second, shortcut]), forward


def _normalised(n_in: int, n_out: int, stride: int, kernel_size: int = 3) -> Any:
    return nn.Sequential(
        nn.Conv2d(n_in, n_out, kernel_size, stride, kernel_size // 2, bias=False),
        nn.BatchNorm2d(n_out),
    )


_NETWORKS = {"lenet": lenet, "mlp": mlp, "lstm": lstm, "resnet": resnet}

"""The networks of :mod:`benchmarks.serve.shapes` in PyTorch."""

from itertools import pairwise
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from benchmarks.serve.loop import Offers, Work
from benchmarks.serve.shapes import (
    CHANNELS_LAST,
    FIT,
    N_HEADS,
    N_WORDS,
    NCHW,
    NETS,
    OUTPUT,
    WORD_SIZE,
)
from benchmarks.serve.torch_resnets import Forward, resnet, resnet50

_TIME_FIRST = "time_first"
_BATCH_FIRST = "batch_first"
_BAG = "bag"
_MODULE = "module"
_VARIANTS = {
    "lenet": (NCHW, CHANNELS_LAST),
    "mlp": ("",),
    "lstm": (_BATCH_FIRST, _TIME_FIRST),
    "resnet": (NCHW, CHANNELS_LAST),
    "resnet50": (NCHW, CHANNELS_LAST),
    "lstm3": (_BATCH_FIRST, _TIME_FIRST),
    "embedding": ("", _BAG),
    "tabular": ("",),
    "attention": (_MODULE, "functions"),
}
OFFERS: Offers = [
    (net, what, variant)
    for net in NETS
    for what in (FIT, OUTPUT)
    for variant in _VARIANTS[net]
]


def make(case: str, what: str, variant: str) -> Work:
    """Return a training step or a forward pass of a network."""
    net = NETS[case]
    parts, forward = _NETWORKS[case](variant)
    if net.n_numbers:
        features = torch.randint(0, net.n_numbers, net.features)
    else:
        features = torch.randn(net.features)
    labels = torch.randint(0, net.n_classes, net.label_axes)
    if variant == CHANNELS_LAST:
        parts = parts.to(memory_format=torch.channels_last)
        features = features.to(memory_format=torch.channels_last)
    if features.dim() == 3:
        # (batch, features, time), as elsewhere, to what torch's layers want.
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


def lstm3(variant: str) -> tuple[Any, Forward]:
    """Return three LSTM layers of 512 on time series of 77 features."""
    recurrent = nn.LSTM(77, 512, 3, batch_first=variant == _BATCH_FIRST)
    classes = nn.Linear(512, 77)
    parts = nn.ModuleList([recurrent, classes])
    return parts, lambda x: classes(recurrent(x)[0]).reshape(-1, 77)


def embedding(variant: str) -> tuple[Any, Forward]:
    """Return the mean of the vectors of words, and classes.

    Gradients are dense: momentum moves rows that no minibatch names.
    """
    classes = nn.Linear(WORD_SIZE, 10)
    if variant == _BAG:
        bag = nn.EmbeddingBag(N_WORDS, WORD_SIZE, mode="mean")
        return nn.ModuleList([bag, classes]), lambda x: classes(bag(x))
    words = nn.Embedding(N_WORDS, WORD_SIZE)
    return nn.ModuleList([words, classes]), lambda x: classes(words(x).mean(1))


def tabular(variant: str) -> tuple[Any, Forward]:
    """Return 50-512-256-128-2."""
    sizes = (50, 512, 256, 128)
    layers = [
        layer
        for n_in, n_out in pairwise(sizes)
        for layer in (nn.Linear(n_in, n_out), nn.ReLU())
    ]
    model = nn.Sequential(*layers, nn.Linear(sizes[-1], 2))
    return model, model


def attention(variant: str) -> tuple[Any, Forward]:
    """Return a layer of self-attention, the mean of its steps, and classes."""
    classes = nn.Linear(128, 10)
    if variant == _MODULE:
        module = nn.MultiheadAttention(128, N_HEADS, batch_first=True)

        def attended(x: Any) -> Any:
            return module(x, x, x, need_weights=False)[0]

        return nn.ModuleList([module, classes]), lambda x: classes(attended(x).mean(1))
    entering = nn.Linear(128, 3 * 128, bias=False)
    leaving = nn.Linear(128, 128, bias=False)

    def heads(x: Any) -> Any:
        return x.unflatten(2, (N_HEADS, -1)).transpose(1, 2)

    def forward(x: Any) -> Any:
        queries, keys, values = map(heads, entering(x).chunk(3, -1))
        answers = functional.scaled_dot_product_attention(queries, keys, values)
        return classes(leaving(answers.transpose(1, 2).flatten(2)).mean(1))

    return nn.ModuleList([entering, leaving, classes]), forward


_NETWORKS = {
    "lenet": lenet,
    "mlp": mlp,
    "lstm": lstm,
    "resnet": resnet,
    "resnet50": resnet50,
    "lstm3": lstm3,
    "embedding": embedding,
    "tabular": tabular,
    "attention": attention,
}

"""PyTorch's expression of each kind of layer: rows, images and volumes.

A layer is a function from a case and its input to what it computes and what it learns.
Where PyTorch has no such layer it is put together as its users would.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from benchmarks.serve.layer_shapes import LayerCase

Forward = Callable[[Any], Any]
Layer = tuple[Forward, Sequence[Any]]
Expression = Callable[[LayerCase, Any], Layer]

_ACTIVATIONS: dict[str, Forward] = {
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
}


def weights(*shape: int) -> Any:
    """Return small random numbers that are learned."""
    return (0.05 * torch.randn(shape)).requires_grad_()


def activation(case: LayerCase) -> Forward:
    """Return the activation of a configuration; the identity if it has none."""
    return _ACTIVATIONS.get(case.conf.get("activation", ""), lambda x: x)


def module(case: LayerCase, layer: Any) -> Layer:
    """Return a module of PyTorch with the activation behind it."""
    act = activation(case)
    return lambda x: act(layer(x)), list(layer.parameters())


def plain(forward: Forward) -> Expression:
    """Return the expression of a layer without parameters and options."""
    return lambda case, x: (forward, ())


def cross_entropy(case: LayerCase, x: Any) -> Layer:
    """Compute a softmax over axis 1 and its loss."""
    classes = torch.randint(0, x.shape[1], (x.shape[0], *x.shape[2:]))
    return lambda x: functional.cross_entropy(x, classes), ()


def dense(case: LayerCase, x: Any) -> Layer:
    """Compute ``activation(x W + b)``."""
    return module(case, nn.Linear(x.shape[-1], case.conf["n_out"]))


def wrapped_dense(case: LayerCase, x: Any) -> Layer:
    """Compute the dense layer inside of a wrapper."""
    return dense(LayerCase(case.conf["layer"], case.shape), x)


def frozen_dense(case: LayerCase, x: Any) -> Layer:
    """Compute the dense layer inside of a wrapper, which learns nothing."""
    forward, parameters = wrapped_dense(case, x)
    for parameter in parameters:
        parameter.requires_grad_(False)
    return forward, ()


def _output(case: LayerCase, x: Any) -> Layer:
    forward, parameters = dense(case, x)
    loss, _ = cross_entropy(case, forward(x))
    return lambda x: loss(forward(x)), parameters


def _ocnn_output(case: LayerCase, x: Any) -> Layer:
    hidden = weights(x.shape[1], case.conf["hidden_size"])
    score, r = weights(case.conf["hidden_size"], 1), weights(1)
    act, nu = activation(case), 0.04

    def forward(x: Any) -> Any:
        scores = act(x @ hidden) @ score
        sizes = (hidden * hidden).sum() + (score * score).sum()
        return sizes / 2 + functional.relu(r - scores).mean() / nu - r.sum()

    return forward, [hidden, score, r]


def _center_loss_output(case: LayerCase, x: Any) -> Layer:
    layer = nn.Linear(x.shape[1], case.conf["n_out"])
    centers = weights(case.conf["n_out"], x.shape[1])
    classes = torch.randint(0, case.conf["n_out"], (len(x),))

    def forward(x: Any) -> Any:
        away = x - centers[classes]
        loss = functional.cross_entropy(layer(x), classes)
        return loss + 1e-4 * (away * away).sum()

    return forward, [*layer.parameters(), centers]


def _element_wise_multiplication(case: LayerCase, x: Any) -> Layer:
    weight, bias = weights(x.shape[1]), weights(x.shape[1])
    act = activation(case)
    return lambda x: act(x * weight + bias), [weight, bias]


def _embedding(case: LayerCase, x: Any) -> Layer:
    return module(case, nn.Embedding(case.conf["n_in"], case.conf["n_out"]))


def _variational_autoencoder(case: LayerCase, x: Any) -> Layer:
    (hidden,) = case.conf["encoder_layer_sizes"]
    first = nn.Linear(x.shape[1], hidden)
    mean = nn.Linear(hidden, case.conf["n_out"])
    act = activation(case)
    return lambda x: mean(act(first(x))), [*first.parameters(), *mean.parameters()]


def _batch_normalization(case: LayerCase, x: Any) -> Layer:
    return module(case, nn.BatchNorm2d(x.shape[1]))


def _convolution(kind: Any) -> Expression:
    def expression(case: LayerCase, x: Any) -> Layer:
        size = case.conf["kernel_size"]
        is_same = case.conf.get("convolution_mode") == "same"
        padding = "same" if is_same else 0
        layer = kind(x.shape[1], case.conf["n_out"], size, padding=padding)
        return module(case, layer)

    return expression


def _deconvolution(kind: Any) -> Expression:
    def expression(case: LayerCase, x: Any) -> Layer:
        conf = case.conf
        layer = kind(x.shape[1], conf["n_out"], conf["kernel_size"], conf["stride"])
        return module(case, layer)

    return expression


def _depthwise_convolution(case: LayerCase, x: Any) -> Layer:
    n, size = x.shape[1], case.conf["kernel_size"]
    return module(case, nn.Conv2d(n, n, size, padding="same", groups=n))


def _separable_convolution(case: LayerCase, x: Any) -> Layer:
    n, size = x.shape[1], case.conf["kernel_size"]
    depthwise = nn.Conv2d(n, n, size, padding="same", groups=n, bias=False)
    pointwise = nn.Conv2d(n, case.conf["n_out"], 1)
    return module(case, nn.Sequential(depthwise, pointwise))


def _locally_connected2d(case: LayerCase, x: Any) -> Layer:
    size, n_out = case.conf["kernel_size"], case.conf["n_out"]
    side = x.shape[2] - size[0] + 1
    weight = weights(side * side, x.shape[1] * size[0] * size[1], n_out)
    bias = weights(n_out)
    act = activation(case)

    def forward(x: Any) -> Any:
        windows = functional.unfold(x, size).permute(2, 0, 1)
        out = torch.matmul(windows, weight) + bias
        return act(out.permute(1, 2, 0).unflatten(2, (side, side)))

    return forward, [weight, bias]


def _pooling(kind: Any) -> Expression:
    def expression(case: LayerCase, x: Any) -> Layer:
        return module(case, kind(case.conf["kernel_size"], case.conf["stride"]))

    return expression


def _prelu(case: LayerCase, x: Any) -> Layer:
    return module(case, nn.PReLU(x.shape[1]))


def _space_to_batch(case: LayerCase, x: Any) -> Layer:
    def forward(x: Any) -> Any:
        n, channels, height, width = x.shape
        cells = x.reshape(n, channels, height // 2, 2, width // 2, 2)
        return cells.permute(3, 5, 0, 1, 2, 4).reshape(
            4 * n, channels, height // 2, width // 2
        )

    return forward, ()


def _upsampled(x: Any) -> Any:
    return functional.interpolate(x, scale_factor=2.0, mode="nearest")


def _cropped(case: LayerCase, x: Any) -> Layer:
    edges = case.conf["cropping"]
    pairs = zip(edges[::2], edges[1::2], strict=True)
    slices = (..., *(slice(first, -last) for first, last in pairs))
    return lambda x: x[slices], ()


def _padded(case: LayerCase, x: Any) -> Layer:
    edges = case.conf["padding"]
    # From the last axis to the first.
    pairs = list(zip(edges[::2], edges[1::2], strict=True))[::-1]
    padding = [edge for pair in pairs for edge in pair]
    return lambda x: functional.pad(x, padding), ()


def _yolo2_output(case: LayerCase, x: Any) -> Layer:
    priors = torch.tensor(case.conf["bounding_boxes"])
    n, channels, height, width = x.shape
    n_boxes = len(priors)
    n_classes = channels // n_boxes - 5
    has_object = (torch.rand(n, height, width, 1) < 0.1).float()
    sizes, places = torch.full((1, 1, 1, 1, 2), 1.5), torch.full((1, 1, 1, 1, 2), 0.5)
    classes = functional.one_hot(torch.randint(0, n_classes, (n, height, width, 1)))

    def forward(x: Any) -> Any:
        boxes = x.permute(0, 2, 3, 1).unflatten(3, (n_boxes, channels // n_boxes))
        center, confidence = boxes[..., :2].sigmoid(), boxes[..., 4].sigmoid()
        size = priors * boxes[..., 2:4].exp()
        first = torch.maximum(center - size / 2, places - sizes / 2)
        last = torch.minimum(center + size / 2, places + sizes / 2)
        shared = (last - first).clamp(min=0).prod(-1)
        overlap = shared / (size.prod(-1) + sizes.prod(-1) - shared)
        best = functional.one_hot(overlap.argmax(-1), n_boxes) * has_object
        place = ((center - places) ** 2 + (size.sqrt() - sizes.sqrt()) ** 2).sum(-1)
        kind = ((boxes[..., 5:].softmax(-1) - classes) ** 2).sum(-1)
        there = (confidence - overlap) ** 2
        return (best * (5 * place + there + kind) + 0.5 * (1 - best) * there).sum()

    return forward, ()


EXPRESSIONS: dict[str, Expression] = {
    "activation": lambda case, x: (activation(case), ()),
    "auto_encoder": dense,
    "batch_normalization": _batch_normalization,
    "center_loss_output": _center_loss_output,
    "cnn3d_loss": cross_entropy,
    "cnn_loss": cross_entropy,
    "convolution1d": _convolution(nn.Conv1d),
    "convolution2d": _convolution(nn.Conv2d),
    "convolution3d": _convolution(nn.Conv3d),
    "cropping1d": _cropped,
    "cropping2d": _cropped,
    "cropping3d": _cropped,
    "deconvolution2d": _deconvolution(nn.ConvTranspose2d),
    "deconvolution3d": _deconvolution(nn.ConvTranspose3d),
    "dense": dense,
    "depthwise_convolution2d": _depthwise_convolution,
    "dropout": lambda case, x: module(case, nn.Dropout(0.5)),
    "element_wise_multiplication": _element_wise_multiplication,
    "embedding": _embedding,
    "embedding_sequence": _embedding,
    "frozen": frozen_dense,
    "frozen_with_backprop": frozen_dense,
    "global_pooling": plain(lambda x: x.amax((2, 3))),
    "local_response_normalization": lambda case, x: module(
        case, nn.LocalResponseNorm(5)
    ),
    "locally_connected2d": _locally_connected2d,
    "loss": cross_entropy,
    "ocnn_output": _ocnn_output,
    "output": _output,
    "prelu": _prelu,
    "repeat_vector": lambda case, x: (
        lambda x: x[:, :, None].repeat(1, 1, case.conf["n"]),
        (),
    ),
    "rnn_loss": cross_entropy,
    "separable_convolution2d": _separable_convolution,
    "space_to_batch": _space_to_batch,
    "space_to_depth": plain(lambda x: functional.pixel_unshuffle(x, 2)),
    "subsampling": _pooling(nn.MaxPool2d),
    "subsampling1d": _pooling(nn.MaxPool1d),
    "subsampling3d": _pooling(nn.MaxPool3d),
    "upsampling1d": plain(_upsampled),
    "upsampling2d": plain(_upsampled),
    "upsampling3d": plain(_upsampled),
    "variational_autoencoder": _variational_autoencoder,
    "yolo2_output": _yolo2_output,
    "zero_padding": _padded,
    "zero_padding1d": _padded,
    "zero_padding3d": _padded,
}

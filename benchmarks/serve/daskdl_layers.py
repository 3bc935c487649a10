"""Single layers of daskdl, forward and backward, as a network holds them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.serve.layer_shapes import LAYER, LAYER_CASES, N_NUMBERS, LayerCase
from benchmarks.serve.loop import Offers, Work

OFFERS: Offers = [(LAYER, kind, "") for kind in LAYER_CASES]


def make(case: str, what: str, variant: str) -> Work:
    """Return forward and backward of the layer `what`."""
    layer_case = LAYER_CASES[what]
    rng = np.random.default_rng(0)
    layer = _layer(layer_case)
    x = _features(layer_case, layer.input_type.shape, rng)
    mask = _mask(x) if layer_case.is_masked else None

    def forward() -> Any:
        return layer.forward(
            x, training=True, mask=mask, rng=rng, batch_size=layer_case.batch
        )

    output = forward()
    if layer.conf.is_output:
        return _with_loss(layer, forward, _labels(what, output.shape, rng))
    grad_out = rng.standard_normal(output.shape, dtype=np.float32)

    def call() -> None:
        forward()
        layer.backward(grad_out)

    return Work(call)


def _with_loss(layer: Any, forward: Callable[[], Any], labels: Any) -> Work:
    def call() -> None:
        forward()
        layer.loss.score(labels)
        layer.backward_loss(labels, None)

    return Work(call)


def _layer(case: LayerCase) -> Any:
    """Return the layer with drawn parameters, in its place in a network of one."""
    from daskdl.arrays.flat import ParamLayout
    from daskdl.arrays.workspace import Workspace
    from daskdl.nn.conf.network import MultiLayerConfiguration
    from daskdl.nn.layers.layer import Layer

    data = {"input": _input_type(case), "layers": [dict(case.conf)]}
    (node,) = MultiLayerConfiguration.from_dict(data).nodes()
    conf: Any = node.conf
    layer = Layer(conf, node.input_types[0], case.kind, Workspace())
    layout = ParamLayout.of(conf.parameter_shapes(layer.input_type))
    params, gradients = (np.zeros(layout.size, np.float32) for _ in range(2))
    layer.bind(layout.views(params), layout.views(gradients))
    layer.initialize(np.random.default_rng(0))
    # Nothing below a frozen layer learns either: nobody asks for a gradient.
    layer.run.needs_grad_x = case.kind != "frozen"
    return layer


def _input_type(case: LayerCase) -> dict[str, Any]:
    kinds = ("feed_forward", "recurrent", "convolutional", "convolutional3d")
    names = (
        ("size",),
        ("size", "time_steps"),
        ("channels", "height", "width"),
        ("channels", "depth", "height", "width"),
    )
    rank = len(case.shape) - 1
    return {"type": kinds[rank], **dict(zip(names[rank], case.shape, strict=True))}


def _features(case: LayerCase, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    if case.is_numbers:
        return rng.integers(0, N_NUMBERS, (case.batch, *shape)).astype(np.float32)
    return rng.standard_normal((case.batch, *shape), dtype=np.float32)


def _mask(x: Any) -> Any:
    mask = np.ones(x.shape[:2], np.float32)
    mask[:, mask.shape[1] // 2 :] = 0
    return mask


def _labels(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    if kind == "yolo2_output":
        return _boxes(shape, rng)
    classes = np.eye(shape[-1], dtype=np.float32)
    return classes[rng.integers(0, shape[-1], shape[:-1])]


def _boxes(shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    """Return corners and class of an object in each tenth cell."""
    batch, height, width, channels = shape
    n_classes = channels // 2 - 5
    labels = np.zeros((batch, height, width, 4 + n_classes), np.float32)
    examples, rows, columns = np.nonzero(rng.random((batch, height, width)) < 0.1)
    centers = np.stack([columns, rows], axis=1) + 0.5
    cells = (examples, rows, columns)
    objects = np.zeros((len(examples), 4 + n_classes), np.float32)
    objects[:, :2] = centers - 0.75
    objects[:, 2:4] = centers + 0.75
    objects[np.arange(len(examples)), 4 + rng.integers(0, n_classes, len(examples))] = 1
    labels[cells] = objects
    return labels

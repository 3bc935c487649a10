"""JAX, compiled by XLA, at work on the same networks: the process of that peer."""

import math
import platform
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.serve.loop import Offers, Work, serve
from benchmarks.serve.shapes import FIT, N_WORDS, NETS, OUTPUT, WORD_SIZE

_RATE, _MOMENTUM = 0.001, 0.9
_AXES = ("NHWC", "HWIO", "NHWC")

Params = dict[str, Any]
Forward = Callable[[Params, Any], Any]


def main() -> None:
    """Answer."""
    versions = {"python": platform.python_version(), "jax": jax.__version__}
    offers: Offers = [(net, what, "") for net in _FORWARDS for what in (FIT, OUTPUT)]
    serve(versions, offers, make)


def make(case: str, what: str, variant: str) -> Work:
    """Return a training step or a forward pass of a network."""
    net = NETS[case]
    rng = np.random.default_rng(0)
    params = _drawn(rng, _SHAPES[case]())
    if what == OUTPUT:
        params |= _running_statistics(params)
    forward = _FORWARDS[case]
    if net.n_numbers:
        x = jnp.asarray(rng.integers(0, net.n_numbers, net.features))
    else:
        features = rng.standard_normal(net.features, dtype=np.float32)
        # Channels, or features of a series, last.
        x = jnp.asarray(np.moveaxis(features, 1, -1))
    if what == OUTPUT:
        infer = jax.jit(lambda params, x: jax.nn.softmax(forward(params, x)))
        return Work(lambda: infer(params, x).block_until_ready())
    classes = jnp.asarray(rng.integers(0, net.n_classes, net.label_axes))
    step = jax.jit(partial(_step, forward), donate_argnums=(0, 1))
    state = [params, jax.tree.map(jnp.zeros_like, params)]

    def call() -> None:
        state[:] = step(*state, x, classes)
        jax.block_until_ready(state)

    return Work(call)


def _step(
    forward: Forward, params: Params, velocity: Params, x: Any, classes: Any
) -> tuple[Params, Params]:
    def loss(params: Params) -> Any:
        logits = jax.nn.log_softmax(forward(params, x))
        return -jnp.take_along_axis(logits, classes[..., None], -1).mean()

    gradients = jax.grad(loss)(params)
    velocity = jax.tree.map(lambda v, g: _MOMENTUM * v + g, velocity, gradients)
    params = jax.tree.map(
        lambda p, v, g: p - _RATE * (_MOMENTUM * v + g), params, velocity, gradients
    )
    return params, velocity


def _drawn(rng: np.random.Generator, shapes: dict[str, tuple[int, ...]]) -> Params:
    return {
        name: jnp.asarray(
            rng.standard_normal(shape, dtype=np.float32)
            / np.float32(math.sqrt(math.prod(shape[:-1])))
        )
        for name, shape in shapes.items()
    }


def _running_statistics(params: Params) -> Params:
    """Return what inference normalises by, in training the minibatch's."""
    suffix = "-gamma"
    names = [name.removesuffix(suffix) for name in params if name.endswith(suffix)]
    ones = {
        f"{name}-variance": jnp.ones_like(params[f"{name}{suffix}"]) for name in names
    }
    zeros = {
        f"{name}-mean": jnp.zeros_like(params[f"{name}{suffix}"]) for name in names
    }
    return ones | zeros


def _dense(params: Params, name: str, x: Any) -> Any:
    return x @ params[f"{name}-w"] + params[f"{name}-b"]


def _convolve(x: Any, weight: Any, stride: int, padding: str) -> Any:
    return lax.conv_general_dilated(
        x, weight, (stride, stride), padding, dimension_numbers=_AXES
    )


def _pool(x: Any) -> Any:
    window = (1, 2, 2, 1)
    return lax.reduce_window(x, -jnp.inf, lax.max, window, window, "VALID")


def lenet(params: Params, x: Any) -> Any:
    """Return the logits of DL4J's LeNet example."""
    for name in ("first", "second"):
        x = _convolve(x, params[f"{name}-w"], 1, "VALID") + params[f"{name}-b"]
        x = _pool(x)
    x = jax.nn.relu(_dense(params, "dense", x.reshape(len(x), -1)))
    return _dense(params, "classes", x)


def mlp(params: Params, x: Any) -> Any:
    """Return the logits of 784-1000-1000-10."""
    for name in ("first", "second"):
        x = jax.nn.relu(_dense(params, name, x))
    return _dense(params, "classes", x)


def lstm(params: Params, x: Any) -> Any:
    """Return the logits of each step of two LSTM layers of 200."""
    for name in ("first", "second"):
        x = _recurrent(params, name, x)
    return _dense(params, "classes", x)


def lstm3(params: Params, x: Any) -> Any:
    """Return the logits of each step of three LSTM layers of 512."""
    for name in ("first", "second", "third"):
        x = _recurrent(params, name, x)
    return _dense(params, "classes", x)


def embedding(params: Params, x: Any) -> Any:
    """Return the logits of the mean of the vectors of words."""
    return _dense(params, "classes", params["words"][x].mean(1))


def tabular(params: Params, x: Any) -> Any:
    """Return the logits of 50-512-256-128-2."""
    for name in ("first", "second", "third"):
        x = jax.nn.relu(_dense(params, name, x))
    return _dense(params, "classes", x)


def _recurrent(params: Params, name: str, x: Any) -> Any:
    recurrent = params[f"{name}-r"]

    def step(state: tuple[Any, Any], entering: Any) -> tuple[tuple[Any, Any], Any]:
        output, cell = state
        block, forget, output_gate, input_gate = jnp.split(
            entering + output @ recurrent, 4, axis=1
        )
        cell = jax.nn.sigmoid(forget) * cell
        cell += jax.nn.sigmoid(input_gate) * jnp.tanh(block)
        output = jax.nn.sigmoid(output_gate) * jnp.tanh(cell)
        return (output, cell), output

    entering = _dense(params, name, jnp.swapaxes(x, 0, 1))
    zeros = jnp.zeros((len(x), len(recurrent)), x.dtype)
    _, outputs = lax.scan(step, (zeros, zeros), entering)
    return jnp.swapaxes(outputs, 0, 1)


def resnet(params: Params, x: Any) -> Any:
    """Return the logits of three residual blocks of 16, 32 and 64 channels."""
    numbers = count()
    x = jax.nn.relu(_normalised(params, numbers, x, 1))
    for stride in (1, 2, 2):
        y = jax.nn.relu(_normalised(params, numbers, x, stride))
        y = _normalised(params, numbers, y, 1)
        shortcut = x if stride == 1 else _normalised(params, numbers, x, stride)
        x = jax.nn.relu(y + shortcut)
    return _dense(params, "classes", x.mean((1, 2)))


def _normalised(params: Params, numbers: Iterator[int], x: Any, stride: int) -> Any:
    name = next(numbers)
    x = _convolve(x, params[f"{name}-w"], stride, "SAME")
    if f"{name}-mean" in params:
        mean, variance = params[f"{name}-mean"], params[f"{name}-variance"]
    else:
        mean = x.mean((0, 1, 2))
        variance = jnp.square(x - mean).mean((0, 1, 2))
    x = (x - mean) * lax.rsqrt(variance + 1e-5)
    return x * params[f"{name}-gamma"] + params[f"{name}-beta"]


def _dense_shapes(**layers: tuple[int, int]) -> dict[str, tuple[int, ...]]:
    weights = {f"{name}-w": shape for name, shape in layers.items()}
    return weights | {f"{name}-b": shape[1:] for name, shape in layers.items()}


def _lenet_shapes() -> dict[str, tuple[int, ...]]:
    return {
        "first-w": (5, 5, 1, 20),
        "first-b": (20,),
        "second-w": (5, 5, 20, 50),
        "second-b": (50,),
        **_dense_shapes(dense=(800, 500), classes=(500, 10)),
    }


def _mlp_shapes() -> dict[str, tuple[int, ...]]:
    return _dense_shapes(first=(784, 1000), second=(1000, 1000), classes=(1000, 10))


def _lstm_shapes() -> dict[str, tuple[int, ...]]:
    dense = _dense_shapes(first=(77, 800), second=(200, 800), classes=(200, 77))
    return {**dense, "first-r": (200, 800), "second-r": (200, 800)}


def _lstm3_shapes() -> dict[str, tuple[int, ...]]:
    layers = {"first": (77, 2048), "second": (512, 2048), "third": (512, 2048)}
    recurrent = {f"{name}-r": (512, 2048) for name in layers}
    return _dense_shapes(**layers, classes=(512, 77)) | recurrent


def _embedding_shapes() -> dict[str, tuple[int, ...]]:
    return {"words": (N_WORDS, WORD_SIZE), **_dense_shapes(classes=(WORD_SIZE, 10))}


def _tabular_shapes() -> dict[str, tuple[int, ...]]:
    return _dense_shapes(
        first=(50, 512), second=(512, 256), third=(256, 128), classes=(128, 2)
    )


def _resnet_shapes() -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = _dense_shapes(classes=(64, 10))
    numbers = count()

    def add(size: int, n_in: int, n_out: int) -> None:
        name = next(numbers)
        shapes[f"{name}-w"] = (size, size, n_in, n_out)
        shapes[f"{name}-gamma"] = shapes[f"{name}-beta"] = (n_out,)

    add(3, 3, 16)
    n_in = 16
    for n_out in (16, 32, 64):
        add(3, n_in, n_out)
        add(3, n_out, n_out)
        if n_out > n_in:
            add(1, n_in, n_out)
        n_in = n_out
    return shapes


_FORWARDS: dict[str, Forward] = {
    "lenet": lenet,
    "mlp": mlp,
    "lstm": lstm,
    "resnet": resnet,
    "lstm3": lstm3,
    "embedding": embedding,
    "tabular": tabular,
}
_SHAPES = {
    "lenet": _lenet_shapes,
    "mlp": _mlp_shapes,
    "lstm": _lstm_shapes,
    "resnet": _resnet_shapes,
    "lstm3": _lstm3_shapes,
    "embedding": _embedding_shapes,
    "tabular": _tabular_shapes,
}

if __name__ == "__main__":
    main()

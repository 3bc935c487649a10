"""The residual networks of :mod:`benchmarks.serve.shapes`, as graphs of daskdl."""

from typing import Any

from benchmarks.serve.shapes import RESNET50_STAGES

NESTEROVS = {"type": "nesterovs", "learning_rate": 0.001, "momentum": 0.9}


def resnet() -> dict[str, Any]:
    """Return three residual blocks of 16, 32 and 64 channels on 32 x 32 images."""
    graph = _Graph()

    def block(name: str, x: str, n_out: int, stride: int) -> str:
        first = graph.rectified(f"{name}-1", x, n_out, 3, stride)
        second = graph.normalized(f"{name}-2", first, n_out, 3)
        if stride > 1:
            x = graph.normalized(f"{name}-shortcut", x, n_out, 1, stride)
        return graph.rectified_sum(name, second, x)

    x = graph.rectified("stem", "image", 16, 3)
    x = block("a", x, 16, 1)
    x = block("b", x, 32, 2)
    x = block("c", x, 64, 2)
    return graph.configuration(x, side=32, n_classes=10)


def resnet50() -> dict[str, Any]:
    """Return ResNet-50, first version: a block strides in its first convolution.

    As DL4J's zoo has it, but for the stride of the second stage, which is 1 in the
    paper (He et al. 2015, table 1).
    """
    graph = _Graph()
    x = graph.rectified("stem", "image", 64, 7, 2)
    x = graph.add(
        "stem-pool",
        [x],
        type="subsampling",
        pooling_type="max",
        kernel_size=[3, 3],
        stride=[2, 2],
        convolution_mode="same",
    )
    for number, (n_blocks, width, stride) in enumerate(RESNET50_STAGES, 2):
        for block in range(n_blocks):
            name, by = f"{number}{'abcdef'[block]}", stride if block == 0 else 1
            y = graph.rectified(f"{name}-1", x, width, 1, by)
            y = graph.rectified(f"{name}-2", y, width, 3)
            y = graph.normalized(f"{name}-3", y, 4 * width, 1)
            if block == 0:
                x = graph.normalized(f"{name}-shortcut", x, 4 * width, 1, by)
            x = graph.rectified_sum(name, y, x)
    return graph.configuration(x, side=224, n_classes=1000)


class _Graph:
    """Vertices of images, by name."""

    def __init__(self) -> None:
        self._vertices: dict[str, Any] = {}

    def add(self, name: str, inputs: list[str], **options: Any) -> str:
        """Add a vertex and return its name."""
        self._vertices[name] = {"inputs": inputs, **options}
        return name

    def normalized(
        self, name: str, x: str, n_out: int, size: int, stride: int = 1
    ) -> str:
        """Add a convolution and a normalization of its minibatch."""
        convolved = self.add(
            f"{name}-conv",
            [x],
            type="convolution2d",
            n_out=n_out,
            kernel_size=[size, size],
            stride=[stride, stride],
            convolution_mode="same",
            has_bias=False,
            activation="identity",
        )
        return self.add(f"{name}-norm", [convolved], type="batch_normalization")

    def rectified(
        self, name: str, x: str, n_out: int, size: int, stride: int = 1
    ) -> str:
        """Add the same, and a rectifier."""
        return self._relu(name, self.normalized(name, x, n_out, size, stride))

    def rectified_sum(self, name: str, *inputs: str) -> str:
        """Add the end of a block."""
        total = self.add(f"{name}-sum", list(inputs), type="element_wise", op="add")
        return self._relu(name, total)

    def _relu(self, name: str, x: str) -> str:
        return self.add(f"{name}-relu", [x], type="activation", activation="relu")

    def configuration(self, x: str, *, side: int, n_classes: int) -> dict[str, Any]:
        """Return the whole network, with means of the last channels and classes."""
        self.add("means", [x], type="global_pooling", pooling_type="avg")
        self.add(
            "classes",
            ["means"],
            type="output",
            activation="softmax",
            loss="mcxent",
            n_out=n_classes,
        )
        image = {"type": "convolutional", "height": side, "width": side, "channels": 3}
        return {
            "inputs": {"image": image},
            "vertices": self._vertices,
            "outputs": ["classes"],
            "updater": NESTEROVS,
        }

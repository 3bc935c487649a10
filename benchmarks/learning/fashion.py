"""Fashion-MNIST (Xiao et al. 2017), as Debian and Ubuntu pack it."""

import gzip
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray

_FOLDER = Path("/usr/share/datasets/fashion-mnist")
# Of magic number and sizes in front of the values.
_IMAGE_HEADER, _LABEL_HEADER = 16, 8


def fashion_mnist(name: str, n: int) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return the first `n` images of a part, and their classes.

    Parameters
    ----------
    name : {"train", "t10k"}
    n : int

    Returns
    -------
    images : (n, 784) array of float32
        From 0 to 1.
    classes : (n,) array of int64
    """
    if not _FOLDER.is_dir():
        sys.exit(f"{_FOLDER} is missing. Run: apt-get install dataset-fashion-mnist")
    images = _bytes(f"{name}-images-idx3-ubyte.gz", _IMAGE_HEADER).reshape(-1, 784)
    classes = _bytes(f"{name}-labels-idx1-ubyte.gz", _LABEL_HEADER)
    return np.float32(1 / 255) * images[:n], classes[:n].astype(np.int64)


def _bytes(name: str, header: int) -> NDArray[np.uint8]:
    content = gzip.decompress((_FOLDER / name).read_bytes())
    return np.frombuffer(content, np.uint8, offset=header)

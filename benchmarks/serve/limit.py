"""What the machine can do at best: matrix products, and adding one vector to another.

NumPy alone, through the BLAS it comes with.
"""

import platform

import numpy as np

from benchmarks.serve.loop import Offers, Work, serve
from benchmarks.serve.shapes import LENGTHS, Product

# Case and what of the works.
MATMUL = ("sgemm", "best")
ADDITION = ("memory", "add")
# Square, and two that BLAS likes no less: which is best differs between machines.
PRODUCTS = {
    f"{product.rows}x{product.inner}x{product.columns}": product
    for product in (
        Product(1000, 1000, 1000),
        Product(1536, 512, 1536),
        Product(2048, 256, 1024),
    )
}


def main() -> None:
    """Answer."""
    offers: Offers = [(*MATMUL, name) for name in PRODUCTS]
    offers += [(*ADDITION, name) for name in LENGTHS]
    versions = {"python": platform.python_version(), "numpy": np.__version__}
    serve(versions, offers, make)


def make(case: str, what: str, variant: str) -> Work:
    """Return a product, or ``residual += update``."""
    rng = np.random.default_rng(0)
    if (case, what) == MATMUL:
        product = PRODUCTS[variant]
        left = rng.standard_normal((product.rows, product.inner), dtype=np.float32)
        right = rng.standard_normal((product.inner, product.columns), dtype=np.float32)
        out = np.empty((product.rows, product.columns), np.float32)
        return Work(lambda: np.matmul(left, right, out=out))
    update = rng.standard_normal(LENGTHS[variant], dtype=np.float32)
    residual = np.zeros_like(update)
    return Work(lambda: np.add(residual, update, out=residual))


if __name__ == "__main__":
    main()

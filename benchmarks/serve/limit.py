"""What a core can do at best: multiply-adds, and adding one vector to another."""

import platform

import numpy as np

from benchmarks.serve.fma import multiply_adds
from benchmarks.serve.loop import Offers, Work, serve
from benchmarks.serve.shapes import LENGTHS

# Case and what of the works. The fact "amount" is what a call amounts to.
FMA = ("fma", "registers")
ADDITION = ("memory", "add")
FLOAT32 = "float32"
AMOUNT = "amount"
# Read both, write one.
_BYTES_AN_ELEMENT = 12


def main() -> None:
    """Answer."""
    offers: Offers = [(*FMA, FLOAT32), *((*ADDITION, name) for name in LENGTHS)]
    versions = {"python": platform.python_version(), "numpy": np.__version__}
    serve(versions, offers, make)


def make(case: str, what: str, variant: str) -> Work:
    """Return multiply-adds, or ``residual += update``."""
    if (case, what) == FMA:
        made = multiply_adds()
        return Work(made.call, facts={AMOUNT: made.flops})
    rng = np.random.default_rng(0)
    update = rng.standard_normal(LENGTHS[variant], dtype=np.float32)
    residual = np.zeros_like(update)
    return Work(
        lambda: np.add(residual, update, out=residual),
        facts={AMOUNT: _BYTES_AN_ELEMENT * len(update)},
    )


if __name__ == "__main__":
    main()

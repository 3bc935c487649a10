"""Numbers as reports print them: as Java's ``Double.toString`` and ``Formatter`` do."""

import math
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np


def number_text(value: float | np.floating[Any]) -> str:
    """Return a float as ``Double.toString`` does, or ``Float.toString`` for a float32.

    Decimal from 1e-3 to 1e7, else with an exponent; at least one digit after the point.
    Java up to 18 prints a few doubles with one digit more than needed; here they always
    have the fewest digits that read back the same.
    """
    if not math.isfinite(value):
        return _word(float(value))
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return np.format_float_positional(value, unique=True, trim="0")
    text = np.format_float_scientific(value, unique=True, trim="0", exp_digits=1)
    return text.replace("e+", "E").replace("e", "E")


def fixed_text(value: float, digits: int) -> str:
    """Return a float as ``%.<digits>f`` of Java does.

    Java rounds the shortest decimal half up, where Python rounds the binary value half
    to even: 0.53125 is 0.5313 there and 0.5312 here.
    """
    if not math.isfinite(value):
        return _word(value)
    step = Decimal(1).scaleb(-digits)
    exact = Decimal(repr(float(value)))
    # Enough for every double: 309 digits before the point.
    context = Context(prec=400 + digits, rounding=ROUND_HALF_UP)
    return f"{exact.quantize(step, context=context):f}"


def scientific_text(value: float, digits: int) -> str:
    """Return a float as ``%.<digits>e`` of Java does; see :func:`fixed_text`."""
    if not math.isfinite(value):
        return _word(value)
    context = Context(prec=digits + 1, rounding=ROUND_HALF_UP)
    rounded = float(context.create_decimal(Decimal(repr(float(value)))))
    return f"{rounded:.{digits}e}"


def _word(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"

"""What the figures are to reach: the right-hand side of every comparison."""

_FIT = {
    "lenet": {"torch": 0.50, "dl4j-repaired": 0.22, "dl4j": 0.06, "limit": 0.50},
    "mlp": {"torch": 0.55, "dl4j-repaired": 0.45, "dl4j": 0.45, "limit": 0.65},
    "lstm": {"torch": 0.80, "dl4j-repaired": 0.15, "dl4j": 0.15, "limit": 0.60},
    "resnet": {"torch": 0.80, "dl4j-repaired": 0.20, "dl4j": 0.03, "limit": 0.45},
}
_OUTPUT = {"torch": 0.75, "dl4j-repaired": 0.6, "dl4j": 0.2}


def goal(case: str, what: str, against: str) -> float | None:
    """Return the largest ratio that is good enough, or None where there is no goal.

    Parameters
    ----------
    case, what : str
        The work.
    against : str
        A peer; "limit" asks for the smallest share of what the machine can do.
    """
    if what == "output":
        return _OUTPUT.get(against) if case in _FIT else None
    if what == "fit":
        return _FIT.get(case, {}).get(against)
    return None

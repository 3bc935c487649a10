"""What members alone have, as it goes on in another session. Pure.

A state is what an exchange's ``state_dict`` returns: arrays and plain values by name.
"""

from collections.abc import Mapping, Sequence
from typing import Any

# Parts of a sum, of which each member has another. All else is alike, or any one does.
ADDS_UP = frozenset({"error", "residual"})


def regrouped(
    states: Sequence[Mapping[str, Any]], n_members: int
) -> list[Mapping[str, Any]]:
    """Return the states of members for another number of them.

    Parameters
    ----------
    states : sequence of mapping of str to object
        In the order of ranks; empty for a member of which nothing is known.
    n_members : int
        How many go on.

    Returns
    -------
    list of mapping of str to object
        As many as there were go on rank by rank. Else the first one gets the sums of
        what adds up, so that nothing of it is lost, and all get the rest of what the
        first one had.
    """
    known = [state for state in states if state]
    if len(states) == n_members or not known:
        return [*states] if known else []
    alike = {name: it for name, it in known[0].items() if name not in ADDS_UP}
    sums = {
        name: sum(state[name] for state in known if name in state)
        for name in sorted(ADDS_UP & known[0].keys())
    }
    return [{**alike, **sums}, *[alike] * (n_members - 1)]

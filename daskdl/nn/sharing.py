"""Work on vectors as long as the parameters, which threads can share."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace

Work: TypeAlias = Callable[[int, int, Workspace], None]
"""Does the part of the thread `rank` of `n`, with scratch from a workspace."""

Share: TypeAlias = Callable[[Work, Workspace], None]
"""Lets threads do a work; the workspace is that of the calling one."""


def add_all(
    total: FloatArray,
    others: Sequence[FloatArray],
    share: Share | None,
    workspace: Workspace,
) -> None:
    """Add vectors to another one, in their order.

    Parameters
    ----------
    total, others : ndarray of shape (n,)
    share : Share, optional
        Lets threads do it together.
    workspace : Workspace
        Of the calling thread.
    """
    if not others:
        return

    def add_part(rank: int, n: int, workspace: Workspace) -> None:
        part = slice(rank * total.size // n, (rank + 1) * total.size // n)
        for other in others:
            total[part] += other[part]

    if share is None:
        add_part(0, 1, workspace)
    else:
        share(add_part, workspace)

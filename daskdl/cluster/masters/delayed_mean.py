"""What a member goes on from when a mean arrives that was sent off earlier. Pure."""

from collections.abc import Sequence

from daskdl.arrays.flat import Slot
from daskdl.arrays.namespace import FloatArray


def carried_on(
    mean: FloatArray, now: FloatArray, sent: FloatArray, running_slots: Sequence[Slot]
) -> FloatArray:
    """Return the mean, and on top of it what was trained since it was sent off.

    Parameters
    ----------
    mean : ndarray of shape (n,), float
        Of what all members sent, with an outer step if there is one.
    now, sent : ndarray of shape (n,), like mean
        Our parameters, and what they were when we sent them.
    running_slots : sequence of Slot
        Where running statistics lie, which stay ours: a variance that shrank meanwhile
        by more than the mean would become negative.

    Returns
    -------
    ndarray of shape (n,), like mean
        Newly allocated.

    References
    ----------
    Wang, Liang, Joshi, "Overlap local-SGD: An algorithmic approach to hide
    communication delays in distributed SGD", 2020; Douillard et al., "Streaming DiLoCo
    with overlapping communication", 2025. Where we differ: both mix the mean with our
    parameters; here nothing that was trained is lost or halved.
    """
    onward: FloatArray = mean + (now - sent)
    for slot in running_slots:
        part = slice(slot.offset, slot.stop)
        onward[part] = now[part]
    return onward

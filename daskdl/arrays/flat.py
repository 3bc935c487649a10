"""One contiguous vector, and the named arrays that are views of it.

All parameters of a network lie in one vector, all gradients in a second one of the same
layout. Views are written through and never rebound: the vector is the truth.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from daskdl.arrays.namespace import FloatArray
from daskdl.errors import ShapeError


@dataclass(frozen=True)
class Slot:
    """Name, offset and shape of one array in the flat vector.

    Parameters
    ----------
    name : str
        What the views are called.
    shape : tuple of int
        Shape of the view; ``()`` is one number.
    offset : int
        Index of its first element, in row-major order.
    """

    name: str
    shape: tuple[int, ...]
    offset: int

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def stop(self) -> int:
        """Index behind the last element."""
        return self.offset + self.size


@dataclass(frozen=True)
class ParamLayout:
    """The table of slots of one flat vector, without gaps and in order.

    Parameters
    ----------
    slots : tuple of Slot
        Each begins where the one before it stops; names are unique.

    Raises
    ------
    ShapeError
        If slots leave gaps, overlap, or share a name.
    """

    slots: tuple[Slot, ...]

    def __post_init__(self) -> None:
        offset = 0
        for slot in self.slots:
            if slot.offset != offset:
                raise ShapeError(
                    f"ParamLayout: slot {slot.name!r} must begin at {offset}, where "
                    f"the slot before it stops, got {slot.offset}."
                )
            offset = slot.stop
        names = [slot.name for slot in self.slots]
        if len(set(names)) != len(names):
            raise ShapeError(f"ParamLayout: slot names must be unique, got {names!r}.")

    @classmethod
    def of(cls, shapes: Mapping[str, tuple[int, ...]]) -> "ParamLayout":
        """Lay out arrays of these shapes one behind the other."""
        slots = []
        offset = 0
        for name, shape in shapes.items():
            slot = Slot(name, tuple(shape), offset)
            slots.append(slot)
            offset = slot.stop
        return cls(tuple(slots))

    @property
    def size(self) -> int:
        """Number of elements of the flat vector."""
        return self.slots[-1].stop if self.slots else 0

    def __iter__(self) -> Iterator[Slot]:
        return iter(self.slots)

    def __getitem__(self, name: str) -> Slot:
        for slot in self.slots:
            if slot.name == name:
                return slot
        raise KeyError(name)

    def views(self, vector: FloatArray) -> dict[str, FloatArray]:
        """Return the named views of `vector`, in the order of the slots.

        Parameters
        ----------
        vector : ndarray of shape (size,), any dtype
            Contiguous; the views share its memory.

        Returns
        -------
        dict of str to ndarray
            Writing into a view writes into `vector`.

        Raises
        ------
        ShapeError
            If `vector` is not one contiguous row of `size` elements.
        """
        if vector.shape != (self.size,):
            raise ShapeError(
                f"ParamLayout: vector must have shape ({self.size},), "
                f"got {vector.shape}."
            )
        if not vector.flags.c_contiguous:
            raise ShapeError(
                "ParamLayout: vector must be contiguous, got one with strides "
                f"{vector.strides}. Copy it first."
            )
        return {
            slot.name: vector[slot.offset : slot.stop].reshape(slot.shape)
            for slot in self.slots
        }

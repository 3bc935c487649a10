"""Where an axis lies at the border and where it lies inside, and types by their axes.

Inside, features or channels are the last axis. At the border they are second, unless
the data format says otherwise.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import (
    Convolutional,
    Convolutional3D,
    FeedForward,
    InputType,
    Recurrent,
)
from daskdl.nn.conf.values import Conf

T = TypeVar("T", bound=Conf)

_OPTIONS: dict[type[Conf], tuple[str, ...]] = {
    FeedForward: ("size",),
    Recurrent: ("time_steps", "size"),
    Convolutional: ("height", "width", "channels"),
    Convolutional3D: ("depth", "height", "width", "channels"),
}


def feature_axis(input_type: InputType) -> int:
    """Return which axis of arrays at the border has features, channels or classes."""
    return 1 if input_type.is_channels_first else -1


def border_axes(input_type: InputType) -> tuple[int, ...]:
    """Return how arrays of a type leave: ``array.transpose(axes)``.

    Examples
    --------
    >>> border_axes(Convolutional(channels=3))
    (0, 3, 1, 2)
    """
    last = len(input_type.shape)
    if input_type.is_channels_first:
        return (0, last, *range(1, last))
    return tuple(range(last + 1))


def axis_inside(input_type: InputType, axis: int, option: str) -> int:
    """Return where the border's `axis` of an array of a type lies inside.

    Raises
    ------
    OptionError
        If it is that of the examples, or arrays have fewer axes. `option` is where the
        number was given.
    """
    axes = border_axes(input_type)
    if not 0 < axis < len(axes):
        raise PathError(
            f"must be from 1 to {len(axes) - 1}, the last axis of {input_type}, "
            f"got {axis}.",
            option,
        )
    return axes[axis]


def with_shape(input_type: T, shape: Sequence[int | None]) -> T:
    """Return the same kind of type with other sizes, as they are inside."""
    names = _OPTIONS[type(input_type)]
    return input_type.replaced(**dict(zip(names, shape, strict=True)))


def fits(shape: Sequence[int | None], array: Any) -> bool:
    """Return whether an array holds examples of a shape, in which None is any size."""
    came = array.shape[1:]
    # Asked of each array a dozen times a step: mostly there is nothing to look for.
    return came == shape or (
        array.ndim == len(shape) + 1
        and all(size in (None, n) for size, n in zip(shape, came, strict=True))
    )


def same_kind(input_types: Sequence[InputType]) -> None:
    """Refuse inputs of which some are rows and others are, say, images.

    Raises
    ------
    OptionError
        Naming the two.
    """
    first = input_types[0]
    for other in input_types[1:]:
        if type(other) is not type(first):
            raise PathError(f"must be of one kind, got {first} and {other}.", "inputs")


def contradict(first: Sequence[int | None], second: Sequence[int | None]) -> bool:
    """Return whether two shapes of as many axes differ in a size that both know."""
    pairs = zip(first, second, strict=True)
    return any(None not in pair and len(set(pair)) > 1 for pair in pairs)


def known(sizes: Iterable[int | None]) -> list[int]:
    """Return the sizes that are known already."""
    return [size for size in sizes if size is not None]

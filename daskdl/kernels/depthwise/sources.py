"""The arrays of a depthwise convolution as programs see them, with zeros around.

An example with many lines is read where it is, and only the slabs of it that windows
with padding reach are copied between zeros; a small one is copied as a whole.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from daskdl.kernels.depthwise.geometry import (
    Box,
    Geometry,
    Slide,
    around,
    boxes,
    indices_read,
    is_inside,
    volume,
    whole,
)
from daskdl.kernels.tiles.nest import Argument, Axis, Copy
from daskdl.kernels.window_products.geometry import strides

# The numbers of the arguments. The output may be the gradient in it.
N_ARGUMENTS = 7
IMAGES, WEIGHTS, BIAS, OUTPUT, GRAD_IMAGES, SUMS, SCRATCH = range(N_ARGUMENTS)
# Numbers that begin here begin a line of the cache.
_ALIGNED = 16
# Of an example, in slabs.
_MOST_COPIED = 0.5


@dataclass(frozen=True)
class Source:
    """An array, or scratch with part of an example between zeros.

    Parameters
    ----------
    argument : Argument
        Where an example begins, or would begin if that part were all of it.
    strides : tuple of int
        Along the axes of the window.
    of_kernel : int
        From the channels of one kernel to those of the next one, where they lie apart.
    fill : tuple of Copy
        What brings an example to the scratch.
    end : int
        Where its part of the scratch ends.
    """

    argument: Argument
    strides: tuple[int, ...]
    of_kernel: int = 0
    fill: tuple[Copy, ...] = ()
    end: int = 0

    def at(self, indices: Sequence[int]) -> Argument:
        """Return where a number of an example lies; it may be among the zeros."""
        return moved(self.argument, indices, self.strides)


@dataclass(frozen=True)
class Part:
    """Some positions of slides, and what they read."""

    box: Box
    source: Source


def moved(
    argument: Argument, indices: Sequence[int], strides: Sequence[int]
) -> Argument:
    """Return an argument that begins further on."""
    by = sum(at * step for at, step in zip(indices, strides, strict=True))
    return replace(argument, offset=argument.offset + by)


def images(geometry: Geometry, number: int = IMAGES) -> Source:
    """Return the images, or the gradient in them."""
    sizes, n = geometry.window.sizes, geometry.n_in
    return Source(Argument(number, step=math.prod(sizes) * n), strides(sizes, n))


def outputs(geometry: Geometry) -> Source:
    """Return the output, or the gradient in it."""
    sizes, n = geometry.window.out, geometry.n_out
    return Source(Argument(OUTPUT, step=math.prod(sizes) * n), strides(sizes, n))


def image_parts(
    geometry: Geometry, slide: Sequence[Slide], *, by_line: bool
) -> list[Part]:
    """Return what a slide over images reads.

    With several kernels a channel the scratch has each channel as often as that. By
    line, the positions along the last axis stay together.
    """
    target = _Scratch(geometry, images(geometry), geometry.window.sizes)
    (parts,) = target.parts([slide], by_line, 0)
    return parts


def output_parts(
    geometry: Geometry, slides: Sequence[Sequence[Slide]], begin: int, *, by_line: bool
) -> list[list[Part]]:
    """Return what slides over outputs read, the scratch being used from `begin` on.

    With several kernels a channel a line of the scratch has all channels of the first
    kernel, then those of the second one.
    """
    target = _Scratch(geometry, outputs(geometry), geometry.window.out, sorts=True)
    return target.parts(slides, by_line, begin)


@dataclass(frozen=True)
class _Scratch:
    """How examples are copied: channels repeated, or sorted by their kernels."""

    geometry: Geometry
    source: Source
    sizes: tuple[int, ...]
    sorts: bool = False

    def parts(
        self, slides: Sequence[Sequence[Slide]], by_line: bool, begin: int
    ) -> list[list[Part]]:
        """Return the parts of each slide: slabs, if they leave most of it uncopied."""
        cuts = [boxes(slide, self.sizes) for slide in slides]
        slabs = [
            volume(read)
            for slide, cut in zip(slides, cuts, strict=True)
            for read in (indices_read(slide, box) for box in cut)
            if not is_inside(read, self.sizes)
        ]
        in_one = by_line or self.geometry.multiplier > 1
        if in_one or _MOST_COPIED * math.prod(self.sizes) < sum(slabs):
            return self._in_one(slides, begin)
        found: list[list[Part]] = []
        for slide, cut in zip(slides, cuts, strict=True):
            found.append([])
            for box in cut:
                source = self._between_zeros(indices_read(slide, box), begin)
                begin = source.end
                found[-1].append(Part(box, source))
        return found

    def _in_one(
        self, slides: Sequence[Sequence[Slide]], begin: int
    ) -> list[list[Part]]:
        """Return every slide as one part, all over one copy."""
        every = [whole(slide) for slide in slides]
        read = [
            indices_read(slide, box) for slide, box in zip(slides, every, strict=True)
        ]
        scratch = self._between_zeros(around(read), begin)
        filled = replace(scratch, fill=())
        sources = [scratch, *[filled] * (len(slides) - 1)]
        return [[Part(*each)] for each in zip(every, sources, strict=True)]

    def _between_zeros(self, read: Box, begin: int) -> Source:
        """Return a copy of what is read, or the source itself where that will do."""
        n_in, n_out = self.geometry.n_in, self.geometry.n_out
        if n_in == n_out and is_inside(read, self.sizes):
            return replace(self.source, end=begin)
        lengths = tuple(stop - first for first, stop in read)
        steps = (*strides(lengths, n_out)[:-1], n_in if self.sorts else n_out)
        begin = -(-begin // _ALIGNED) * _ALIGNED
        first = moved(Argument(SCRATCH, begin), [-first for first, _ in read], steps)
        end = begin + math.prod(lengths) * n_out
        scratch = Source(first, steps, lengths[-1] * n_in, end=end)
        return replace(scratch, fill=(self._fill(scratch, read),))

    def _fill(self, scratch: Source, read: Box) -> Copy:
        """Return what copies what there is."""
        corner = [
            min(max(0, first), size)
            for (first, _), size in zip(read, self.sizes, strict=True)
        ]
        counts = [
            max(0, min(stop, size) - first)
            for first, (_, stop), size in zip(corner, read, self.sizes, strict=True)
        ]
        lines = tuple(
            Axis(count, a=near, c=far)
            for count, near, far in zip(
                counts, self.source.strides, scratch.strides, strict=True
            )
        )[:-1]
        run, n = counts[-1] * self.geometry.n_in, self.geometry.multiplier
        to, by = scratch.at(corner), self.source.at(corner)
        if n == 1:
            return Copy(to, run, lines, by)
        # One number after the other.
        if self.sorts:
            along = (Axis(n, a=1, c=scratch.of_kernel), Axis(run, a=n, c=1))
        else:
            along = (Axis(n, a=0, c=1), Axis(run, a=1, c=n))
        return Copy(to, 1, (*lines, *along), by)

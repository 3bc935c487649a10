"""Shuffling of more examples than memory holds, in two passes over a store.

A random permutation tells where each example goes; a bucket is as many places that
follow each other as memory holds. The first pass reads the source and writes the
examples of each partition bucket by bucket, some blocks to a file, as a sort-based
shuffle does: so there is a file for each buffer that was full, and not one for each
pair of partition and bucket. The second reads the pieces of a bucket out of all files
and puts its examples into their places. All orders of the examples come out alike
whatever the partitions are, and a seed gives the same one on any number of workers.
"""

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from daskdl.data.blocks import BlockSize, joined_examples
from daskdl.data.dataset import DataSet
from daskdl.data.files import open_input, write_output
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.pairs import Examples
from daskdl.data.permutation import Permutation
from daskdl.data.pre_processors.partition import stored_partition, with_stored
from daskdl.data.sources.partition import Partition, Source
from daskdl.data.time_series import Alignment
from daskdl.errors import DataError

__all__ = [
    "BUCKET_BYTES",
    "BucketPartition",
    "Scatter",
    "ScatteredFile",
    "shuffle_plan",
    "shuffled_source",
    "size_of",
]

# In memory a bucket takes some four times as much while it is put in order, which the
# smallest worker has. Twice as much makes half the files, and a quarter of the pieces.
BUCKET_BYTES = 64 << 20


@dataclass(frozen=True)
class ShufflePlan:
    """Where the examples of a source go.

    Parameters
    ----------
    permutation : Permutation
        Of all examples.
    bucket_rows : int
        Examples of a bucket; the last one may have fewer.
    """

    permutation: Permutation
    bucket_rows: int

    @property
    def n_buckets(self) -> int:
        """How many buckets there are."""
        return -(-self.permutation.size // self.bucket_rows)

    def buckets(self, start: int, n_rows: int) -> NDArray[np.int64]:
        """Return the bucket of each of some examples that follow each other."""
        places = self.permutation.places(np.arange(start, start + n_rows))
        return places // self.bucket_rows

    def rows(self, bucket: int) -> int:
        """Return how many examples a bucket has."""
        start = bucket * self.bucket_rows
        return min(self.bucket_rows, self.permutation.size - start)

    def order(self, bucket: int) -> NDArray[np.int64]:
        """Return the order of the examples of a bucket that come as they were stored.

        Returns
        -------
        ndarray of shape (rows of the bucket,), int64
        """
        start = bucket * self.bucket_rows
        places = np.arange(start, start + self.rows(bucket))
        # Twice: which number each has among the examples of the bucket.
        return self.permutation.elements(places).argsort().argsort()


@dataclass(frozen=True, eq=False)
class ScatteredFile:
    """A file with some examples of a partition, bucket by bucket.

    Parameters
    ----------
    url : str
    starts : ndarray of shape (n_buckets + 1,), int64
        Bytes at which the buckets begin; equal to the next where there is no example.
    multi : bool
        Whether they are of a MultiDataSet.
    """

    url: str
    starts: NDArray[np.int64]
    multi: bool


@dataclass(frozen=True)
class Scatter:
    """The first pass: writes the examples of partitions, bucket by bucket.

    Parameters
    ----------
    plan : ShufflePlan
    directory : str
        Path or URL that all workers reach.
    buffer_bytes : int
        What is held until a file is written.
    storage_options : dict
        Handed to the file system.
    """

    plan: ShufflePlan
    directory: str
    buffer_bytes: int
    storage_options: dict[str, Any]

    def write(
        self, partition: Partition, number: int, start: int
    ) -> list[ScatteredFile]:
        """Write a partition; the same files again if it is called again.

        Parameters
        ----------
        partition : Partition
        number : int
            Of the partition, for the names of files.
        start : int
            How many examples are in those before it.

        Raises
        ------
        DataError
            If it cannot be read, holds keys, or more than was counted.
        OutputError
            If the store does not take a file.
        """
        files: list[ScatteredFile] = []
        held: list[tuple[Examples, NDArray[np.int64]]] = []
        held_bytes = 0
        for block in stored_partition(partition).load_blocks():
            if not block.num_examples:
                continue
            _check_block(partition.name, block, start, self.plan)
            held.append((block, self.plan.buckets(start, block.num_examples)))
            start += block.num_examples
            held_bytes += block.nbytes
            if held_bytes >= self.buffer_bytes:
                files.append(self._file(partition, held, number, len(files)))
                held, held_bytes = [], 0
        if held:
            files.append(self._file(partition, held, number, len(files)))
        return files

    def _file(
        self,
        partition: Partition,
        held: Sequence[tuple[Examples, NDArray[np.int64]]],
        number: int,
        index: int,
    ) -> ScatteredFile:
        url = f"{self.directory}/part-{number:05d}-{index:05d}.bin"
        starts = np.zeros(self.plan.n_buckets + 1, np.int64)

        def write(stream: BinaryIO) -> None:
            starts[0] = 0
            for bucket in range(self.plan.n_buckets):
                piece = _piece(partition, held, bucket)
                starts[bucket + 1] = starts[bucket] + stream.write(piece)

        # A worker that was given up may have been here before, with the same bytes.
        write_output(url, write, overwrite=True, storage_options=self.storage_options)
        return ScatteredFile(url, starts, isinstance(held[0][0], MultiDataSet))


@dataclass(frozen=True, eq=False)
class BucketPartition(Partition):
    """The examples of a bucket, in their places: the second pass.

    Parameters
    ----------
    name : str
    bucket : int
    plan : ShufflePlan
    pieces : tuple of (str, int, int)
        URL, and where in it the piece begins and ends, in the order of the source.
    multi : bool
        Whether they are of a MultiDataSet.
    storage_options : dict
        Handed to the file system.
    align : {"start", "end", "equal_length"}, or None
        Of the time series in them; see `Partition`.
    """

    name: str
    bucket: int
    plan: ShufflePlan
    pieces: tuple[tuple[str, int, int], ...]
    multi: bool
    storage_options: dict[str, Any]
    align: Alignment | None = None

    @property
    def rows(self) -> int:  # type: ignore[override]
        """Number of examples."""
        return self.plan.rows(self.bucket)

    def load(self) -> Examples:
        """Return the examples in their random order; see `Partition.load`."""
        parts = [self._read(*piece) for piece in self.pieces]
        urls = [url for url, _, _ in self.pieces]
        examples = joined_examples(parts, urls, self.align)
        if examples.num_examples != self.rows:
            raise DataError(
                f"{self.name}: must hold {self.rows} examples as they were counted, "
                f"got {examples.num_examples}. Shuffle again."
            )
        return examples.take(self.plan.order(self.bucket))

    def _read(self, url: str, start: int, stop: int) -> Examples:
        with open_input(url, storage_options=self.storage_options) as stream:
            stream.seek(start)
            stored = io.BytesIO(stream.read(stop - start))
        kind = MultiDataSet if self.multi else DataSet
        return kind.read_from(stored, name=f"{url} from byte {start} on")


def size_of(partition: Partition) -> BlockSize:
    """Return the rows and bytes of a partition in front of preprocessors."""
    sizes = [
        (block.num_examples, block.nbytes)
        for block in stored_partition(partition).load_blocks()
    ]
    return BlockSize(sum(rows for rows, _ in sizes), sum(size for _, size in sizes))


def shuffle_plan(
    source: Source, sizes: Iterable[BlockSize], *, seed: int, bucket_bytes: int
) -> ShufflePlan:
    """Return where the examples of a source go.

    Parameters
    ----------
    source : Source
    sizes : iterable of BlockSize
        Of its partitions.
    seed : int
    bucket_bytes : int
        What a bucket may hold, if examples take the same; at least one example.

    Raises
    ------
    DataError
        If there is no example.
    """
    each = list(sizes)
    n_rows = sum(size.rows for size in each)
    if not n_rows:
        raise DataError(
            f"{source.name}: must hold at least one example to be shuffled, got none."
        )
    row_bytes = sum(size.nbytes for size in each) / n_rows
    bucket_rows = max(1, int(bucket_bytes / row_bytes))
    permutation = Permutation.drawn(n_rows, seed, "shuffle", "examples")
    return ShufflePlan(permutation, min(bucket_rows, n_rows))


def shuffled_source(
    source: Source, scatter: Scatter, files: Sequence[ScatteredFile], *, seed: int
) -> Source:
    """Return the source of the second pass: a partition a bucket.

    Parameters
    ----------
    source : Source
        What was shuffled.
    scatter : Scatter
        The first pass.
    files : sequence of ScatteredFile
        What it wrote, in the order of the partitions.
    seed : int
        For the name.
    """
    name = f"{source.name} (shuffled with seed {seed})"
    partitions = tuple(
        with_stored(
            source.partitions[0],
            BucketPartition(
                f"bucket {bucket} of {name}",
                bucket,
                scatter.plan,
                _pieces(files, bucket),
                files[0].multi,
                scatter.storage_options,
                source.partitions[0].align,
            ),
        )
        for bucket in range(scatter.plan.n_buckets)
    )
    return replace(
        source, name=name, partitions=partitions, minibatches=False, in_memory=False
    )


def _pieces(
    files: Sequence[ScatteredFile], bucket: int
) -> tuple[tuple[str, int, int], ...]:
    pieces = [(one.url, *one.starts[bucket : bucket + 2].tolist()) for one in files]
    return tuple((url, start, stop) for url, start, stop in pieces if start < stop)


def _piece(
    partition: Partition,
    held: Sequence[tuple[Examples, NDArray[np.int64]]],
    bucket: int,
) -> bytes:
    """Return the stored form of the examples of a bucket; nothing if there is none."""
    taken = [block.take(np.flatnonzero(where == bucket)) for block, where in held]
    filled = [one for one in taken if one.num_examples]
    stored = io.BytesIO()
    if filled:
        names = [partition.name] * len(filled)
        joined_examples(filled, names, partition.align).write_to(stored)
    return stored.getvalue()


def _check_block(name: str, block: Examples, start: int, plan: ShufflePlan) -> None:
    if block.keys is not None:
        raise DataError(
            f"{name}: keys must be None to be shuffled, since the files that are "
            "written have no place for them. Leave key out."
        )
    if start + block.num_examples > plan.permutation.size:
        raise DataError(
            f"{name}: must still hold the examples that were counted, got more. "
            "Shuffle again."
        )

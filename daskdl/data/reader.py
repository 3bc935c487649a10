"""From a minibatch of the plan to its examples, with loaded partitions kept a while."""

import copy
from collections import OrderedDict
from collections.abc import Generator, Iterable, Mapping, Sequence

from daskdl.checks import check_at_least
from daskdl.data.blocks import BlockStreams, joined_examples
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.plan import Minibatch, PartitionRows
from daskdl.data.room import LEAST_ROOM
from daskdl.data.sources.partition import Partition
from daskdl.errors import DataError

__all__ = ["MinibatchReader"]


class MinibatchReader:
    """Reads minibatches out of partitions, each loaded as rarely as memory allows.

    For one thread at a time.

    Parameters
    ----------
    partitions : sequence of Partition, or mapping of int to Partition
        As the plan numbers them; a mapping may gain entries later. Blocks of one
        partition are best read in their order.
    cache_bytes : int
        Loaded partitions that are kept may hold that much together, the least recently
        used are let go. The one read last is kept however large it is.
    """

    def __init__(
        self,
        partitions: Sequence[Partition] | Mapping[int, Partition],
        cache_bytes: int = LEAST_ROOM.cache_bytes,
    ) -> None:
        check_at_least("MinibatchReader", "cache_bytes", cache_bytes, 0)
        self._partitions = partitions
        self.cache_bytes = cache_bytes
        self._loaded: OrderedDict[int, DataSet | MultiDataSet] = OrderedDict()
        self._held = 0  # bytes of all that are loaded
        # Of those that nothing is awaited but rows of minibatches that need several.
        self._done: OrderedDict[int, None] = OrderedDict()
        self._largest = 0
        self._streams = BlockStreams()
        # What is still to be read of each partition, which of it are pieces of
        # minibatches that need several, and such of partitions that were let go.
        self._awaited: dict[int, set[PartitionRows]] = {}
        self._spanning: set[PartitionRows] = set()
        self._kept: dict[PartitionRows, DataSet | MultiDataSet] = {}

    def expect(self, minibatches: Iterable[Minibatch]) -> None:
        """Take notice of what is going to be read: no partition is loaded for a piece.

        Parameters
        ----------
        minibatches : iterable of Minibatch
            In any order; nothing else is expected any more.
        """
        self._awaited, self._spanning, kept = {}, set(), self._kept
        for minibatch in minibatches:
            for piece in minibatch.pieces:
                self._awaited.setdefault(piece.partition, set()).add(piece)
            if len(minibatch.pieces) > 1:
                self._spanning.update(minibatch.pieces)
        self._kept = {one: kept[one] for one in self._spanning & kept.keys()}
        done = (number for number in self._loaded if not self._is_needed_whole(number))
        self._done = OrderedDict.fromkeys(done)

    def close(self) -> None:
        """Close what is open: nobody reads on."""
        self._streams.close()

    def forget(self) -> None:
        """Let go of all partitions that were loaded; they are loaded anew if needed."""
        self._loaded.clear()
        self._done.clear()
        self._held = 0
        self._kept.clear()

    @property
    def loads(self) -> int:
        """How often a partition was loaded, or begun where it is read by blocks."""
        return self._streams.loads

    def read_all(
        self, minibatches: Sequence[Minibatch], epoch: int
    ) -> Generator[DataSet | MultiDataSet, None, None]:
        """Yield the examples of minibatches, in order; see `read`."""
        self.expect(minibatches)
        try:
            for minibatch in minibatches:
                yield self.read(minibatch, epoch)
        finally:
            self.close()

    def keep(self, number: int, examples: DataSet | MultiDataSet) -> None:
        """Take a partition that somebody else loaded, as if it was loaded here."""
        before, nbytes = self._loaded.get(number), examples.nbytes
        self._held += nbytes - (0 if before is None else before.nbytes)
        self._loaded[number] = examples
        self._loaded.move_to_end(number)
        self._largest = max(self._largest, nbytes)
        self._note_done(number)
        while self._held > self.cache_bytes and len(self._loaded) > 1:
            # Of spanning minibatches the rows alone are enough.
            self._let_go(next(iter(self._done or self._loaded)))

    def load(self, number: int) -> DataSet | MultiDataSet:
        """Return all examples of a partition, by its number.

        Raises
        ------
        DataError
            If it cannot be loaded.
        """
        if number in self._loaded:
            self._loaded.move_to_end(number)
            self._note_done(number)
            return self._loaded[number]
        # Before it is loaded: memory may have no room for it and for what is done with.
        while self._done and self._awaited and self._lacks_room:
            self._let_go(next(iter(self._done)))
        for before, examples in self._streams.load(self._partitions[number]):
            if not before or number - before in self._awaited:
                self.keep(number - before, examples)
        return examples

    def read(self, minibatch: Minibatch, epoch: int = 0) -> DataSet | MultiDataSet:
        """Return the examples of a minibatch, in the order of its pieces.

        Parameters
        ----------
        minibatch : Minibatch
            With at least one piece.
        epoch : int
            In which it is trained; decides what preprocessors draw.

        Returns
        -------
        DataSet or MultiDataSet
            Views of the loaded partition where there is one piece only, so it must not
            be written to.

        Raises
        ------
        DataError
            If a partition cannot be loaded, or has fewer rows than the plan says.
        """
        first = self._partitions[minibatch.pieces[0].partition]
        return first.for_training(self._whole(minibatch), epoch, minibatch.index)

    def _whole(self, minibatch: Minibatch) -> DataSet | MultiDataSet:
        parts = [self._read_piece(piece) for piece in minibatch.pieces]
        names = [self._partitions[piece.partition].name for piece in minibatch.pieces]
        first = self._partitions[minibatch.pieces[0].partition]
        return joined_examples(parts, names, first.align)

    def _read_piece(self, piece: PartitionRows) -> DataSet | MultiDataSet:
        self._awaited.get(piece.partition, set()).discard(piece)
        if piece in self._kept:
            self._note_done(piece.partition)
            return self._kept.pop(piece)
        examples = self.load(piece.partition)
        if piece.stop > examples.num_examples:
            raise DataError(
                f"{self._partitions[piece.partition].name}: must still have "
                f"{piece.stop} rows as when it was scanned, got "
                f"{examples.num_examples}."
            )
        if piece.rows == examples.num_examples:
            return examples
        return examples.slice(piece.start, piece.stop)

    def _is_needed_whole(self, number: int) -> bool:
        return not self._spanning.issuperset(self._awaited.get(number, ()))

    @property
    def _lacks_room(self) -> bool:
        return self._held + self._largest > self.cache_bytes

    def _note_done(self, number: int) -> None:
        """Note whether a partition that was just used is done with."""
        self._done.pop(number, None)
        if number in self._loaded and not self._is_needed_whole(number):
            self._done[number] = None

    def _let_go(self, number: int) -> None:
        self._done.pop(number, None)
        examples = self._loaded.pop(number)
        self._held -= examples.nbytes
        for piece in self._awaited.get(number, ()):
            if piece in self._spanning:
                rows = examples.slice(piece.start, piece.stop)
                # A view would keep the whole partition alive.
                self._kept[piece] = copy.deepcopy(rows)

"""The passes of a network, by one thread or by several that share a minibatch.

Each thread has a program of its own over the same parameters: layers, buffers, and a
vector for its gradients. What they have written is added up by whoever reads it, in the
order of the threads, so that results do not depend on who was faster. See design 0032.
"""

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import pairwise
from typing import Any, TypeAlias, TypeVar

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace, to_host
from daskdl.arrays.replays import Given, Replays
from daskdl.arrays.team import Cut, Meeting, Team, cuts
from daskdl.arrays.thread_count import blas_limited_to, threads_here
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.dispatch import is_on_device
from daskdl.kernels.spinning import spinning
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.topology import Node
from daskdl.nn.cutting import Workload, can_be_cut
from daskdl.nn.divergence import numbers_may_overflow
from daskdl.nn.program import Mask, Program
from daskdl.nn.turns import Turn, Turns
from daskdl.nn.vectors import Vectors

T = TypeVar("T")
Numbers: TypeAlias = Callable[..., np.random.Generator]
"""Makes the random numbers of an iteration for a `cut`, a part of the minibatch."""


class JointPasses:
    """Forward and backward passes of a network.

    Parameters
    ----------
    nodes : sequence of Node
    new_program : function of a Workspace
        Makes a program of them.
    vectors : Vectors
        Of the network.
    workspace : Workspace
        Of the first program.

    Attributes
    ----------
    program : Program
        The one of the calling thread.
    threads : int or None
        How many take part at most, and BLAS has at most; None for as many as this
        process may use.
    others : list of ndarray of shape (n_params,)
        What the other threads have written in the last pass back, to be added to the
        gradients.
    turns : Turns
        Of the threads of a user. A pass is made by the thread whose turn it is.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        new_program: Callable[[Workspace], Program],
        vectors: Vectors,
        workspace: Workspace,
    ) -> None:
        self.threads: int | None = None
        self.others: list[FloatArray] = []
        self.turns = Turns()
        self.program = new_program(workspace)
        self.program.bind(vectors.layout, vectors.params, vectors.gradients)
        self._new_program, self._vectors = new_program, vectors
        self._workspace = workspace
        self._programs, self._gradients = [self.program], [vectors.gradients]
        self._workload = Workload(nodes)
        on_host = isinstance(vectors.params, np.ndarray)
        self._can_be_cut = on_host and all(can_be_cut(node.conf) for node in nodes)
        # Of the last pass.
        self._cuts: list[Cut] = []
        self._n_examples = 0
        self._team: Team | None = None
        self._replays: Replays | None = None

    @property
    def n_threads(self) -> int:
        """How many may take part."""
        return threads_here() if self.threads is None else self.threads

    def keeping_threads(self) -> AbstractContextManager[None]:
        """Let threads wait for the next pass, until the end of a ``with`` block."""
        me, keepers = threading.get_ident(), self.turns.keepers
        return nullcontext() if me in keepers else self._keeping(me, keepers)

    @contextmanager
    def _keeping(self, me: int, keepers: set[int]) -> Generator[None, None, None]:
        keepers.add(me)
        try:
            yield
        finally:
            # Another thread may be at work with them, or keep them on.
            with self.turns.turn:
                keepers.discard(me)
                if not keepers:
                    self._send_home()

    def computing(self) -> AbstractContextManager[None]:
        """Have the turn, and let BLAS have :attr:`threads`, until a block ends."""
        turn = self.turns.turn
        return turn if self.threads is None else _limited(turn, self.threads)

    def sum_gradients(
        self,
        features: Sequence[FloatArray],
        masks: Sequence[Mask],
        labels: Sequence[FloatArray],
        label_masks: Sequence[Mask],
        *,
        averages: bool,
        numbers: Numbers | None,
    ) -> float:
        """Write the summed gradients of a minibatch to the first vector and `others`.

        Parameters
        ----------
        features, masks
            As of :meth:`Program.forward`.
        labels, label_masks, averages
            As of :meth:`Program.loss`.
        numbers : callable, optional
            If training draws any.

        Returns
        -------
        float, or ndarray of CuPy of shape ()
            The loss; on a device it stays there, until the next pass.
        """
        data = (features, masks, labels, label_masks)
        if numbers is None and self._can_be_replayed:
            return self._replayed(data, averages=averages)

        def there_and_back(program: Program, cut: Cut | None) -> float:
            x, x_masks, y, y_masks = _parts_of(data, cut)
            rng = None if numbers is None else numbers(cut=cut)
            program.forward(x, x_masks, training=True, rng=rng)
            loss = program.loss(y, y_masks, averages=averages)
            program.backward(y, y_masks)
            return loss

        losses = self._by_all(features, labels, there_and_back)
        self.others = self._gradients[1 : len(losses)]
        return losses[0] if len(losses) == 1 else sum(losses)

    @property
    def _can_be_replayed(self) -> bool:
        """Whether a pass depends on the data, and on memory that stays, alone."""
        if not is_on_device(self._vectors.params):
            return False
        carries = any(run.carries_state for run in self.program.runs)
        return not carries and not any(
            type(layer.conf).begin_iteration is not LayerConf.begin_iteration
            for layer in self.program.output_layers
        )

    def _replayed(self, data: Sequence[Given], *, averages: bool) -> float:
        """Return the loss of a pass there and back, from a graph if there is one."""
        if self._replays is None:
            borders = np.cumsum([0, *map(len, data)])

            def work(given: Given) -> float:
                x, x_masks, y, y_masks = (
                    given[start:stop] for start, stop in pairwise(borders)
                )
                self.program.forward(x, x_masks, training=True, rng=None)
                loss = self.program.loss(y, y_masks, averages=averages)
                self.program.backward(y, y_masks)
                return loss

            cupy = array_namespace(self._vectors.params)
            self._replays = Replays(cupy, work, self._workspace)
        self._cuts = []
        loss: float = self._replays.run([array for part in data for array in part])
        return loss

    def add_up(self) -> None:
        """Add what the others have written to the gradients of the network, once."""
        gradients = self._vectors.gradients
        for other in self.others:
            gradients += other
        self.others = []

    def outputs(
        self, features: Sequence[FloatArray], masks: Sequence[Mask]
    ) -> list[FloatArray]:
        """Compute the outputs, in inference: as :meth:`Program.forward` does."""
        data = (features, masks)

        def there(program: Program, cut: Cut | None) -> list[FloatArray]:
            x, x_masks = _parts_of(data, cut)
            return program.forward(x, x_masks, training=False, rng=None)

        parts = self._by_all(features, (), there)
        if len(parts) == 1:
            return parts[0]
        return [np.concatenate(output) for output in zip(*parts, strict=True)]

    def loss(
        self, labels: Sequence[FloatArray], masks: Sequence[Mask], *, averages: bool
    ) -> float:
        """Return the loss of the last pass; see :meth:`Program.loss`."""
        total = 0.0
        for program, cut in self._last():
            with program.taking_part(cut):
                here = _parts_of((labels, masks), cut)
                total += float(program.loss(*here, averages=averages))
        return total

    def score_examples(
        self, labels: Sequence[FloatArray], masks: Sequence[Mask]
    ) -> list[FloatArray]:
        """Return the losses (batch,) of the last pass; see that of :class:`Program`."""
        parts = [
            program.score_examples(*_parts_of((labels, masks), cut))
            for program, cut in self._last()
        ]
        return [np.concatenate(scores) for scores in zip(*parts, strict=True)]

    def loss_mask(self, output: int = 0) -> Mask:
        """Return the mask that counts in a loss; see :meth:`Program.loss_mask`."""
        masks = [program.loss_mask(output) for program, _ in self._last()]
        there = [to_host(mask) for mask in masks if mask is not None]
        return np.concatenate(there) if there else None

    def _by_all(
        self,
        features: Sequence[FloatArray],
        labels: Sequence[FloatArray],
        work: Callable[[Program, Cut | None], T],
    ) -> list[T]:
        """Let threads do a pass, each for its part of a minibatch.

        An error is what one thread alone has to say of the whole minibatch.
        """
        n = self._n_parts(features, labels) if self._can_be_cut else 1
        if n > 1:
            try:
                return self._cut(n, work)
            except Exception:
                self._alone(work)
                raise
        return [self._alone(work)]

    def _alone(self, work: Callable[[Program, Cut | None], T]) -> T:
        self._cuts = []
        return work(self.program, None)

    def _cut(self, n: int, work: Callable[[Program, Cut | None], T]) -> list[T]:
        while len(self._programs) < n:
            self._add_program()
        self._cuts = cuts(self._n_examples, n, spinning())

        def part(rank: int) -> T:
            program, cut = self._programs[rank], self._cuts[rank]
            # NumPy asks each thread for itself.
            with program.taking_part(cut), numbers_may_overflow():
                return work(program, cut)

        with blas_limited_to(1):
            return self._run(n, part, self._cuts[0].meeting)

    def _add_program(self) -> None:
        program = self._new_program(Workspace())
        # Zeros: nobody writes the gradients of what does not learn.
        vectors, gradients = self._vectors, np.zeros_like(self._vectors.params)
        program.bind(vectors.layout, vectors.params, gradients)
        self._programs.append(program)
        self._gradients.append(gradients)

    def _run(
        self, n: int, part: Callable[[int], T], meeting: Meeting | None = None
    ) -> list[T]:
        with self.keeping_threads():
            if self._team is None or not self._team.is_here or self._team.size < n:
                self._send_home()
                self._team = Team(n, spinning())
            return self._team.run(part, n, meeting)

    def _send_home(self) -> None:
        team, self._team = self._team, None
        if team is not None:
            team.close()

    def _last(self) -> list[tuple[Program, Cut | None]]:
        if not self._cuts:
            return [(self.program, None)]
        return list(zip(self._programs, self._cuts, strict=False))

    def _n_parts(
        self, features: Sequence[FloatArray], labels: Sequence[FloatArray]
    ) -> int:
        """Return how many threads have a part of a minibatch."""
        n = self._n_examples = len(features[0])
        n_steps = max([x.shape[1] for x in features if x.ndim == 3], default=1)
        most = self._workload.parts(n, n_steps)
        # The quickest question first: small networks ask it in each iteration.
        if most == 1 or any(len(array) != n for array in (*features, *labels)):
            return 1
        if any(run.carries_state for run in self.program.runs):
            return 1
        return min(most, self.n_threads)


@contextmanager
def _limited(turn: Turn, threads: int) -> Generator[None, None, None]:
    # In this order: who waits must not limit who computes.
    with turn, blas_limited_to(threads):
        yield


def _parts_of(
    data: Sequence[Sequence[Any]], cut: Cut | None
) -> Sequence[Sequence[Any]]:
    """Return what a thread has of lists of arrays (batch, ...), or of None."""
    if cut is None:
        return data
    return [
        [None if array is None else cut.rows_of(array) for array in arrays]
        for arrays in data
    ]

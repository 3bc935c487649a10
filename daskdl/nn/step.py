"""One step of training, which sequences and graphs share."""

import copy
import math
from abc import abstractmethod
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from functools import cached_property, partial
from typing import Any, Generic, SupportsFloat, TypeVar

import numpy as np

from daskdl.arrays.device import network_namespace
from daskdl.arrays.flat import ParamLayout, Slot
from daskdl.arrays.namespace import FloatArray, to_host
from daskdl.arrays.random import numbers_of
from daskdl.arrays.workspace import Workspace
from daskdl.checks import check_count, check_type
from daskdl.data.normalizers.normalizer import Normalizer
from daskdl.errors import DivergedError
from daskdl.kernels.cuda.late_scores import LateScores
from daskdl.kernels.dispatch import is_on_device
from daskdl.nn.batches import Arrays, Batch, as_arrays
from daskdl.nn.conf.network import (
    ComputationGraphConfiguration,
    MultiLayerConfiguration,
)
from daskdl.nn.conf.topology import Node
from daskdl.nn.data_checks import PartitionCheck
from daskdl.nn.data_converter import DataConverter
from daskdl.nn.divergence import check_score, numbers_may_overflow
from daskdl.nn.fitting.exchange import Exchange, take_step
from daskdl.nn.joint_passes import JointPasses
from daskdl.nn.line_search_plan import LineSearchPlan
from daskdl.nn.memory_footprint import check_footprint, n_params_of
from daskdl.nn.normalizing import (
    NormalizerChoice,
    check_class_names,
    check_classes_kept,
    check_normalizer,
    warn_of_changed_classes,
)
from daskdl.nn.output_lengths import output_steps
from daskdl.nn.ports import HasPorts
from daskdl.nn.program import Program
from daskdl.nn.rebuilding import rebuilt
from daskdl.nn.solver_choice import Solver, solver_of
from daskdl.nn.state_carrying import carry_state
from daskdl.nn.tbptt import truncated
from daskdl.nn.turns import Turns
from daskdl.nn.update_plan import UpdatePlan
from daskdl.nn.vectors import Vectors, layer_spans

Conf = TypeVar("Conf", MultiLayerConfiguration, ComputationGraphConfiguration)
S = TypeVar("S", bound="StepNetwork[Any]")


class StepNetwork(HasPorts, Generic[Conf]):
    """A network that can be trained minibatch by minibatch.

    It has a program (its layers and vertices at work), vectors (parameters, gradients,
    updater state), and a data converter (what goes in and comes out).

    The three vectors are one-dimensional and contiguous. They are written through and
    never replaced: layers hold views of them.

    Parameters
    ----------
    conf : MultiLayerConfiguration or ComputationGraphConfiguration
        What the network is.
    params : array_like of shape (n_params,), optional
        Copied. If left out, initial weights are drawn from the configuration's seed.
    updater_state : array_like of shape (n_state,), optional
        Copied. If left out, updaters begin anew.

    Attributes
    ----------
    workspace : Workspace
        Lends all arrays.
    iteration_count, epoch_count : int
        Minibatches and passes over the data that were trained.

    Raises
    ------
    ShapeError
        If `params` or `updater_state` have the wrong number of elements.

    Notes
    -----
    Threads take turns with a network. The same configuration, data, NumPy and number of
    threads give the same parameters, bit for bit.
    """

    def __init__(
        self, conf: Conf, params: Any = None, *, updater_state: Any = None
    ) -> None:
        kinds = (MultiLayerConfiguration, ComputationGraphConfiguration)
        who = type(self).__name__
        check_type(who, "conf", conf, *kinds)
        self.conf: Conf = conf
        self.iteration_count = 0
        self.epoch_count = 0
        self._score: Any = float("nan")
        self._class_names: tuple[str, ...] | None = None
        self._nodes = conf.nodes()
        # Layers take memory too: before they are made, what is known by now.
        n_params = n_params_of(self._nodes)
        check_footprint(who, self._nodes, 2 * n_params, self.dtype.itemsize)
        namespace = network_namespace()
        self.workspace = Workspace(namespace)
        outputs = [node.name for node in self.output_nodes]
        self._vectors = Vectors(who, self._nodes, self.dtype, namespace)
        self._passes = JointPasses(
            self._nodes,
            partial(Program, who, self._nodes, self._input_names(), outputs),
            self._vectors,
            self.workspace,
        )
        self._program = self._passes.program
        self._converter = DataConverter(
            who,
            self.inputs,
            self.outputs,
            self.labels,
            self.dtype,
            namespace=namespace,
            steps=output_steps(conf),
        )
        self._is_initialized = params is not None
        if params is None:
            self.init()
        else:
            self._vectors.write_params(params)
        self._vectors.write_updater_state(updater_state)

    @property
    def normalizer(self) -> Normalizer | None:
        """What all data go through that come in, and predictions back; None for none.

        Give the network data as they are: it normalizes them itself, in training and in
        inference. If labels were normalized, too, outputs come in their units. Saved
        and loaded with the network.
        """
        with self.turns.turn:
            return self._converter.normalizer

    @normalizer.setter
    def normalizer(self, normalizer: Normalizer | None) -> None:
        who = type(self).__name__
        checked = check_normalizer(who, normalizer)
        check_classes_kept(who, checked, self.labels)
        with self.turns.turn:
            self._converter.normalizer = checked

    def restore_normalizer(
        self, normalizer: Normalizer | None, *, read_from: str | None = None
    ) -> None:
        """Put back a normalizer that a network had before.

        Unlike one that is set anew, it may change labels that tell classes, since older
        and foreign files hold such: the network predicts as ever. To train it goes on
        being refused.

        Parameters
        ----------
        normalizer : Normalizer or None
        read_from : str, optional
            A file, for the warning that it holds such a normalizer.
        """
        who = type(self).__name__
        with self.turns.turn:
            self._converter.normalizer = check_normalizer(who, normalizer)
        if read_from is not None:
            warn_of_changed_classes(read_from, normalizer, self.labels)

    @contextmanager
    def normalizing(self, normalizer: NormalizerChoice) -> Generator[None, None, None]:
        """Use another normalizer, or none, in a ``with`` block; other threads wait."""
        with self._passes.computing(), self._converter.using(normalizer):
            yield

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """What the classes of the first output are called, in the order of its numbers.

        Evaluations print them. Saved and loaded with the network; None if nobody said.
        """
        return self._class_names

    @class_names.setter
    def class_names(self, names: Sequence[str] | None) -> None:
        if names is not None:
            n_out = self.output_layer_n_out[0]
            names = check_class_names(type(self).__name__, names, n_out)
        self._class_names = names

    def partition_check(self, normalizer: Normalizer | None) -> PartitionCheck:
        """Return the function that forms data as layers know them, or refuses them.

        Parameters
        ----------
        normalizer : Normalizer or None
            What the data will go through.
        """
        return PartitionCheck(self._converter.checks, normalizer)

    @property
    def threads(self) -> int | None:
        """How many threads a pass takes at most; None for all this process may use.

        BLAS has no more meanwhile, and never more than the process gives it.
        """
        return self._passes.threads

    @threads.setter
    def threads(self, threads: int | None) -> None:
        if threads is not None:
            check_count(type(self).__name__, "threads", threads)
        self._passes.threads = threads

    def keeping_threads(self) -> AbstractContextManager[None]:
        """Keep threads for a loop around :meth:`fit_minibatch`, until a block ends."""
        return self._passes.keeping_threads()

    @property
    def turns(self) -> Turns:
        """What keeps threads apart that use the network at one time."""
        return self._passes.turns

    @property
    def params(self) -> FloatArray:
        """All parameters, shape (n_params,). Write into it: ``params[...] = x``."""
        return self._vectors.params

    @property
    def gradients(self) -> FloatArray:
        """All gradients, or after :meth:`compute_update` the update; (n_params,)."""
        return self._vectors.gradients

    @property
    def updater_state(self) -> FloatArray:
        """The state of all updaters, shape (n_state,)."""
        return self._vectors.updater_state

    @property
    def nodes(self) -> Sequence[Node]:
        """Layers and vertices in the order in which they are computed."""
        return self._nodes

    @property
    def layout(self) -> ParamLayout:
        """Where each parameter lies: ``0_W``, ``0_b``, ... or ``<vertex>_W``."""
        return self._vectors.layout

    @property
    def plan(self) -> UpdatePlan:
        """How gradients become updates, and where the updaters' state lies."""
        return self._vectors.plan

    @property
    def running_slots(self) -> tuple[Slot, ...]:
        """Where running statistics lie in :attr:`params`."""
        return self.plan.running

    @property
    def n_params(self) -> int:
        """Number of parameters."""
        return self.layout.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of parameters and activations."""
        dtype: np.dtype[Any] = np.dtype(self.conf.dtype)
        return dtype

    @abstractmethod
    def _input_names(self) -> Sequence[str]:
        """Return the names by which nodes read the inputs."""

    def param_table(self) -> dict[str, FloatArray]:
        """Return all parameters by name, as views of the flat vector.

        Each has the shape of its slot in the layout, such as (n_in, n_out).
        """
        return self.layout.views(self.params)

    def init(self: S) -> S:
        """Draw the initial weights, unless that is done or they were given."""
        if not self._is_initialized:
            self._program.initialize(self.conf.seed)
            self._is_initialized = True
        return self

    def clone(self: S) -> S:
        """Return an independent copy that begins series with zeros."""
        return self._copied(self.conf)

    def _copied(self: S, conf: Conf) -> S:
        """Return a copy of another configuration with the same parameters and state."""
        with self.turns.turn:
            rebuild, (kind, _, params, _, *kept) = self.__reduce__()
            clone: S = rebuild(kind, conf, params, None, *kept)
            carry_state(self.plan, self.updater_state, clone.plan, clone.updater_state)
            # One of them may be fitted anew.
            clone.restore_normalizer(copy.deepcopy(self.normalizer))
        return clone

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle vectors and counters; layers and their views are built anew."""
        kept = ("iteration_count", "epoch_count", "score", "class_names")
        return rebuilt, (
            type(self),
            self.conf,
            to_host(self.params),
            to_host(self.updater_state),
            {name: getattr(self, name) for name in kept},
            self.normalizer,
        )

    @property
    def searches_lines(self) -> bool:
        """Whether it is trained by searches along lines, which make no update."""
        return self._solver is not None

    @property
    def sets_parameters(self) -> bool:
        """Whether training changes a parameter otherwise than by an update."""
        return any(layer.conf.sets_parameters for layer in self._program.output_layers)

    def compute_gradients(self, batch: Batch, *, rng_stream: int = 0) -> float:
        """Run forward and backward, and leave the mean gradient in `gradients`.

        Parameters
        ----------
        batch : DataSet or MultiDataSet
            One minibatch with labels.
        rng_stream : int
            Number of the worker: each draws its own dropout.

        Returns
        -------
        score : float
            Sum of the losses divided by the number of examples, plus what
            regularization adds. Also kept in :attr:`score`.

        Raises
        ------
        ShapeError, DataError
            If the minibatch does not fit; see :meth:`check_batch`.
        """
        with self._passes.computing(), self.keeping_threads():
            n_examples = self._sum_gradients(batch, rng_stream)
            self._passes.add_up()
            self.plan.average(self.gradients, self._divisor(n_examples))
            return self.score

    def compute_update(self) -> FloatArray:
        """Turn `gradients`, in place, into the update to subtract.

        Returns
        -------
        update : ndarray of shape (n_params,)
            The very vector :attr:`gradients`. The updater state has moved on.
        """
        vectors = (self.gradients, self.params, self.updater_state)
        self.plan.update(*vectors, **self._now)
        return self.gradients

    def learn(self, n_examples: int, *, held: Any = None) -> None:
        """Average `gradients`, sums over examples, update and subtract in one pass.

        A device leaves that out where `held` says so; see :class:`LateScores`.
        """
        vectors = (self.gradients, self.params, self.updater_state)
        n, others = self._divisor(n_examples), self._passes.others
        self.plan.step(*vectors, n_examples=n, others=others, held=held, **self._now)

    def _divisor(self, n_examples: int) -> int:
        return n_examples if self.conf.mini_batch else 1

    def apply_update(self, update: FloatArray) -> None:
        """Subtract an update of shape (n_params,) from the parameters."""
        params = self.params
        params -= update

    @property
    def carried_states(self) -> list[Any]:
        """What the recurrent layers carry over."""
        return [run.state for run in self._program.runs]

    @carried_states.setter
    def carried_states(self, states: list[Any]) -> None:
        for run, state in zip(self._program.runs, states, strict=True):
            run.state = state

    def slope(self) -> FloatArray:
        """Return the derivative of the score behind the last mean gradients.

        Returns
        -------
        slope : ndarray of shape (n_params,)
            A new array: the gradients, and what L1 and L2 add. 0 where a number is no
            weight, as a running mean.
        """
        return self._search_plan.slope(self.gradients, self.params, **self._now)

    def settle(self) -> None:
        """Do to the parameters what no search along a line does.

        Running statistics and class centers go on by the last gradients, weights decay.
        """
        self._search_plan.settle(self.gradients, self.params, **self._now)

    def finish_iteration(self) -> None:
        """Count the iteration, and hold the parameters to their constraints."""
        self.iteration_count += 1
        self.hold_constraints()

    def hold_constraints(self) -> None:
        """Make the parameters satisfy their constraints."""
        self.plan.constrain(self.params)

    def segments(self, batch: Batch) -> Generator[Batch, None, None]:
        """Yield what is trained of a minibatch, one iteration each.

        That is the minibatch itself, or with truncated backpropagation through time
        its stretches of time steps; recurrent layers carry on their state.
        """
        if self.conf.backprop_type == "standard":
            yield batch
            return
        arrays, runs = self._checked(batch), self._program.runs
        yield from truncated(arrays, self.inputs, self.labels, runs, self.conf)

    def fit_minibatch(
        self, batch: Batch, *, rng_stream: int = 0, exchange: Exchange | None = None
    ) -> float:
        """Train one minibatch: gradients, update, parameters, one more iteration.

        With truncated backpropagation through time each segment is an iteration.

        Parameters
        ----------
        batch : DataSet, MultiDataSet or pair of arrays
        rng_stream : int
            Number of the worker: each draws its own dropout.
        exchange : Exchange, optional
            Hears of each update, where others train too. Of searches along lines, which
            make none, it hears when they have ended.

        Returns
        -------
        score : float
            Before the update, or after a search along a line; with truncated
            backpropagation through time that of the last segment.

        Raises
        ------
        DivergedError
            When the score is no number; the parameters stay as they were.
        DataError
            When it is none because of the minibatch.
        """
        score = self.train_minibatch(batch, rng_stream=rng_stream, exchange=exchange)
        try:
            return float(score)
        except DivergedError:
            self._check_numbers(batch)
            raise

    def train_minibatch(
        self, batch: Batch, *, rng_stream: int = 0, exchange: Exchange | None = None
    ) -> SupportsFloat:
        """Do as :meth:`fit_minibatch` does, but do not wait for a device.

        Returns
        -------
        score : float or LateScore
            ``float(score)`` waits, and raises what :meth:`fit_minibatch` does. Until
            somebody reads a score, no minibatch behind a bad one changes a parameter.
        """
        score: SupportsFloat = float("nan")
        # Closed where an error ends the loop: layers stop carrying state over at once.
        with (
            self._passes.computing(),
            closing(self.segments(batch)) as segments,
            numbers_may_overflow(),
            self.keeping_threads(),
        ):
            for segment in segments:
                if self._solver is not None:
                    found = self._solver.fit(self, segment, rng_stream=rng_stream)
                    score = self._checked_score(found, segment)
                    continue
                n_examples = self._sum_gradients(segment, rng_stream)
                late = self._late_scores if exchange is None else None
                if late is None or isinstance(self._score, float):
                    score, held = self._checked_score(self.score, segment), None
                else:
                    score = late.note(self._score, self.iteration_count)
                    self._score, held = score, late.held
                if exchange is not None and exchange.adds_up_gradients:
                    self._passes.add_up()
                take_step(self, n_examples, exchange, held=held)
            if exchange is not None:
                exchange.iteration_done(self, batch.num_examples)
        return score

    def _checked_score(self, score: float, batch: Batch) -> float:
        """Return a score, or refuse one that is no number by its cause."""
        if not math.isfinite(score):
            self._check_numbers(batch)
            check_score(type(self).__name__, score, self.iteration_count)
        return score

    def _check_numbers(self, batch: Batch) -> None:
        who = type(self).__name__
        self._converter.checks.check_numbers(who, as_arrays(who, batch), None)

    @property
    def score(self) -> float:
        """Loss of the last minibatch, before its update; waits for a device."""
        score = self._score = float(self._score)
        return score

    @score.setter
    def score(self, score: float) -> None:
        self._score = score

    @cached_property
    def _late_scores(self) -> LateScores | None:
        """What keeps scores on a device, where it can leave out updates by itself."""
        if is_on_device(self.params) and self.plan.can_be_held:
            return LateScores(self.params, partial(check_score, type(self).__name__))
        return None

    def _sum_gradients(self, batch: Batch, rng_stream: int) -> int:
        """Leave the summed gradient in `gradients` and the score in `score`.

        Returns
        -------
        n_examples : int
            Over which are the sums.
        """
        arrays = self._checked(batch)
        now = (self.conf.seed, rng_stream, self.iteration_count, self.epoch_count)
        for layer in self._program.output_layers:
            layer.conf.begin_iteration(layer.run, self.epoch_count)
        loss = self._passes.sum_gradients(
            *self._converter.features(arrays),
            *self._converter.labels(arrays),
            averages=self.conf.mini_batch,
            numbers=partial(numbers_of, *now) if self._draws else None,
        )
        more = self.regularization_score()
        self._score = loss + more if more else loss
        return arrays.num_examples

    @property
    def _now(self) -> dict[str, Any]:
        """When a plan acts, and with which buffers."""
        at, epoch = self.iteration_count, self.epoch_count
        return {"iteration": at, "epoch": epoch, "workspace": self.workspace}

    @cached_property
    def _solver(self) -> Solver | None:
        """What searches along lines, if that is how the network is trained."""
        return solver_of(self.conf)

    @cached_property
    def _draws(self) -> bool:
        """Whether training needs random numbers."""
        return any(node.conf.draws_random_numbers for node in self._nodes)

    @cached_property
    def _search_plan(self) -> LineSearchPlan:
        return LineSearchPlan(layer_spans(self.layout, self._nodes))

    def _checked(self, batch: Batch, *, numbers: bool = False) -> Arrays:
        """Return the arrays of a minibatch with labels, or refuse it."""
        arrays = self._fitting(batch, numbers=numbers)
        self._converter.check_labels(arrays)
        return arrays

    def _fitting(self, batch: Batch, *, numbers: bool = False) -> Arrays:
        """Do the same without a look at what the losses say of the labels."""
        self._program.check_losses()
        is_stretch = any(run.carries_state for run in self._program.runs)
        return self._converter.checked(batch, any_length=is_stretch, numbers=numbers)

    def regularization_score(self) -> float:
        """Return what regularization adds to the score now."""
        at, epoch = self.iteration_count, self.epoch_count
        return self.plan.regularization_score(self.params, iteration=at, epoch=epoch)

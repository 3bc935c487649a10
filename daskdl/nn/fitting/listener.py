"""Listeners of a fit, in one process and on a cluster alike."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from daskdl.checks import did_you_mean, some
from daskdl.errors import DivergedError, OptionError
from daskdl.nn.fitting.events import Event

if TYPE_CHECKING:
    from daskdl.nn.fitting.fit import Fit


class Listener:
    """Base class of listeners: override the methods for the events to hear of.

    A listener may stop the fit, and report values of its own; see
    :class:`~daskdl.nn.fitting.fit.Fit`. All is called in the thread that called
    ``fit``. What a listener raises ends the fit, but for errors of a store at the end
    of an epoch, which are warnings: training does not end over a checkpoint.

    Examples
    --------
    >>> import daskdl
    >>> class Patience(daskdl.Listener):
    ...     def on_epoch_end(self, fit):
    ...         if fit.score < 0.01:
    ...             fit.stop()
    """

    # In front of the figures that an evaluation reports; None if it does not evaluate.
    reports_as: str | None = None
    # Whether it shows how far the fit is, in place of the line at a prompt.
    shows_progress = False

    def on_fit_start(self, fit: "Fit") -> None:
        """Hear that the data are known to fit, and training begins."""

    def on_epoch_start(self, fit: "Fit") -> None:
        """Hear that ``fit.epoch`` begins."""

    def iteration_done(self, fit: "Fit") -> None:
        """Hear how far it is: after every minibatch.

        On a cluster a few times a second, after the minibatches of all workers since.
        """

    def on_epoch_end(self, fit: "Fit") -> None:
        """Hear that every example of the epoch was trained."""

    def on_standstill(self, fit: "Fit") -> None:
        """Hear that training stands where a run can go on: ``fit.run_state()``.

        Before the first minibatch, behind all other moments of the end of an epoch, at
        the end of a run, and soon after ``fit.want_standstill()`` or
        ``fit.want_checkpoint()``.
        """

    def on_divergence(self, fit: "Fit", error: DivergedError) -> bool:
        """Hear that a score or a parameter is no number; whether that ends it in order.

        Nothing more is trained. If a listener returns True, ``on_fit_end`` is told, and
        ``fit`` returns; else it raises `error`. The network is what the last update
        made of it, on a cluster what it was at a standstill before.
        """
        return False

    def kept_state(self) -> Mapping[str, Any]:
        """Return what a checkpoint of the run is to hold of it.

        As JSON has values, or arrays of floating-point numbers. A listener that counts
        or compares from epoch to epoch returns that here.
        """
        return {}

    def restore_state(self, state: Mapping[str, Any]) -> None:
        """Take over what :meth:`kept_state` returned, as a run goes on.

        Called before :meth:`on_fit_start`, unless there was nothing to keep.
        """

    def on_complete_run(self, fit: "Fit") -> None:
        """Hear that the run which was to go on has nothing left to train.

        In place of all other moments but :meth:`restore_state`.
        """

    def on_fit_end(self, fit: "Fit") -> None:
        """Hear that the network is trained. Not called if an error ends the fit."""

    def on_fit_error(self, fit: "Fit", error: BaseException) -> None:
        """Hear that an error ends the fit, in place of :meth:`on_fit_end`.

        Also of one that a listener raised, and of what Ctrl-C and SIGTERM raise. Not
        of data that do not fit: then nothing has begun. What is raised here is logged,
        and hides nothing.
        """

    def on_event(self, event: Event) -> None:
        """Hear of all else, such as a worker that was lost.

        See :mod:`daskdl.nn.fitting.events`.
        """


def kept_states(
    listeners: Sequence[Listener],
) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """Return the class and the kept state of each listener that keeps one."""
    states = ((type(one).__name__, one.kept_state()) for one in listeners)
    return tuple((name, state) for name, state in states if state)


def restore_states(
    listeners: Sequence[Listener], states: Sequence[tuple[str, Mapping[str, Any]]]
) -> None:
    """Give listeners back what those of the same class kept, one after another."""
    left = list(states)
    for listener in listeners:
        name = type(listener).__name__
        found = next((one for one in left if one[0] == name), None)
        if found is not None:
            left.remove(found)
            listener.restore_state(found[1])


def listeners_of(who: str, given: Listener | Iterable[Listener]) -> list[Listener]:
    """Return one listener or several as a list.

    Raises
    ------
    OptionError
        If one is none.
    """
    items: list[Any] = [given] if isinstance(given, Listener) else _items(given)
    for item in items:
        if not isinstance(item, Listener):
            got = item.__name__ if isinstance(item, type) else type(item).__name__
            hint = f" Make one: {got}()." if isinstance(item, type) else ""
            raise OptionError(
                f"{who}: listeners must be objects of classes that derive from "
                f"daskdl.Listener, got {got}.{hint}"
            )
        _check_moments(who, type(item))
    names = [item.reports_as for item in items if item.reports_as is not None]
    if len(set(names)) < len(names):
        raise OptionError(
            f"{who}: listeners that evaluate must have different names, got "
            f"{some(names)}. Give name=..."
        )
    return items


def _check_moments(who: str, kind: type[Listener]) -> None:
    """Refuse a method that is never called, as its name tells no moment."""
    known = [name for name in vars(Listener) if not name.startswith("__")]
    for name in vars(kind):
        if name.startswith("on_") and name not in known:
            raise OptionError(
                f"{who}: {kind.__name__} must have methods of moments, {some(known)}, "
                f"got {name!r}.{did_you_mean(name, known)}"
            )


def _items(given: Any) -> list[Any]:
    return list(given) if isinstance(given, Iterable) else [given]

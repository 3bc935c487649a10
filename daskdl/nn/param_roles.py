"""Roles of parameters in training: updaters, penalties, constraints."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from daskdl.arrays.flat import Slot
from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.constraints import Constraint
from daskdl.nn.conf.names import GradientNormalizationLiteral
from daskdl.nn.conf.options import TrainingOptions
from daskdl.nn.conf.parameters import Kind, Parameter
from daskdl.nn.conf.regularization import weight_decays
from daskdl.nn.conf.updaters import NoOp, Updater
from daskdl.nn.constraints import check_dimensions
from daskdl.nn.regularization import Penalty

# How the options of weights and of biases end.
_ENDINGS: dict[Kind, str] = {"weights": "", "biases": "_bias"}


@dataclass(frozen=True)
class ParamRole:
    """Updater, penalties and constraints of one parameter, and its place.

    Parameters
    ----------
    name : str
        What the layer calls it.
    slot : Slot
        Where it lies.
    updater : updater configuration
        NoOp for running statistics and what never changes.
    penalty : Penalty
        L1, L2 and weight decay.
    scored : Penalty
        Those that are in the score.
    constraints : tuple of constraint configurations
        What holds it after every update.
    is_running : bool
        Whether its "gradient" is a difference of running statistics or centers, which
        is subtracted as it is, never divided by a number of examples.
    is_frozen : bool
        Whether it never changes.
    is_updated : bool
        Whether an updater brings it forward; if not, what is subtracted is its
        "gradient" itself.
    is_pretraining : bool
        Whether it changes only in layer-wise pretraining.
    axes : tuple of int, optional
        ``array.transpose(axes)`` has the axes of files; None where both are the same.
    file_shape : tuple of int, optional
        The shape in files where it has axes of length 1 besides.
    """

    name: str
    slot: Slot
    updater: Updater
    penalty: Penalty = field(default_factory=Penalty)
    scored: Penalty = field(default_factory=Penalty)
    constraints: tuple[Constraint, ...] = ()
    is_running: bool = False
    is_frozen: bool = False
    is_updated: bool = True
    is_pretraining: bool = False
    axes: tuple[int, ...] | None = None
    file_shape: tuple[int, ...] | None = None

    def part(self, vector: FloatArray) -> FloatArray:
        """Return the parameter's stretch (size,) of a vector (n_params,), as a view."""
        return vector[self.slot.offset : self.slot.stop]

    def file_view(self, vector: FloatArray) -> FloatArray:
        """Return the parameter with the axes of files, a view of (n_params,)."""
        view = self.part(vector).reshape(self.slot.shape)
        if self.axes is not None:
            view = view.transpose(self.axes)
        # Axes of length 1 can be added to any array without a copy.
        return view if self.file_shape is None else view.reshape(self.file_shape)

    @property
    def n_axes(self) -> int:
        """Number of axes in files."""
        return len(self.slot.shape if self.file_shape is None else self.file_shape)


@dataclass(frozen=True)
class ParamSpan:
    """Part of the flat vector on which one updater and its penalties work.

    Parameters
    ----------
    start, stop : int
        In the flat vector: the parameter itself, unless a table has another
        order; see :class:`LayerSpan`.
    role : ParamRole
        Whose updater and penalties.
    layer : int
        Number of the layer.
    """

    start: int
    stop: int
    role: ParamRole
    layer: int


@dataclass(frozen=True)
class LayerSpan:
    """The parameters of one layer, which lie side by side.

    Parameters
    ----------
    start, stop : int
        In the flat vector.
    roles : tuple of ParamRole
        In layout order.
    normalization : str
        The layer's gradient normalization.
    threshold : float
        Its bound.
    table_order : tuple of str
        The names in the order of a table, if updaters and penalties are dealt along the
        span in this order, so that they meet the wrong parameters.
    normalizes_running : bool
        Whether running statistics count in the norm of the gradient, and are rescaled
        and clipped with it, so that they lag behind the data.
    """

    start: int
    stop: int
    roles: tuple[ParamRole, ...]
    normalization: GradientNormalizationLiteral
    threshold: float
    table_order: tuple[str, ...] = ()
    normalizes_running: bool = False

    def spans(self, layer: int) -> list[ParamSpan]:
        """Return the span of each updater, in layout order."""
        return consecutive_spans(self.in_table_order(self.roles), self.start, layer)

    def in_table_order(self, roles: Sequence[ParamRole]) -> list[ParamRole]:
        """Return roles in the order in which updaters and penalties are dealt."""
        if not self.table_order:
            return list(roles)
        return sorted(roles, key=lambda role: self.table_order.index(role.name))


def consecutive_spans(
    roles: Sequence[ParamRole], start: int, layer: int
) -> list[ParamSpan]:
    """Return spans as long as the parameters of roles, one behind the other."""
    spans = []
    for role in roles:
        spans.append(ParamSpan(start, start + role.slot.size, role, layer))
        start += role.slot.size
    return spans


def plan_parameters(
    conf: TrainingOptions,
    slots: Sequence[Slot],
    parameters: Sequence[Parameter],
    *,
    table_order: tuple[str, ...] = (),
) -> LayerSpan:
    """Return the roles of the parameters of one layer.

    Parameters
    ----------
    conf : TrainingOptions
        Resolved.
    slots, parameters : sequences of Slot and Parameter
        Where they lie and what the layer says of them, in layout order.
    table_order : tuple of str
        The names in the order of a table that has another one than the vector; see
        :class:`LayerSpan`.

    Raises
    ------
    OptionError
        If a constraint is for axes that a parameter does not have.
    """
    own = own_names([parameter.name for parameter in parameters])
    roles = tuple(
        _role(conf, slot, parameter, name)
        for slot, parameter, name in zip(slots, parameters, own, strict=True)
    )
    return LayerSpan(
        slots[0].offset,
        slots[-1].stop,
        roles,
        conf.gradient_normalization or "none",
        conf.gradient_normalization_threshold or 1.0,
        table_order if "updaters_by_table" in conf.quirks else (),
        "running_statistics_normalized" in conf.quirks,
    )


def own_names(names: Sequence[str]) -> list[str]:
    """Return the names of parameters in the layer inside a wrapper.

    Notes
    -----
    Only Bidirectional renames parameters: it has each one twice, first all of them
    with an f in front and then all of them with a b.
    """
    half = len(names) // 2
    first, second = (
        [name[1:] for name in part] for part in (names[:half], names[half:])
    )
    expected = [prefix + name for prefix in "fb" for name in first]
    if not half or first != second or list(names) != expected:
        return list(names)
    return 2 * own_names(first)


def _role(
    conf: TrainingOptions, slot: Slot, parameter: Parameter, own_name: str
) -> ParamRole:
    treatment = parameter.treatment
    is_scored = parameter.is_scored or "some_penalties_not_scored" not in conf.quirks
    role = ParamRole(
        parameter.name,
        slot,
        _updater(conf, treatment.updater),
        _penalty(conf, treatment.penalty),
        _scored(conf, treatment.scored if is_scored else None),
        _constraints(conf, parameter, own_name),
        is_running=parameter.role in ("running", "moved"),
        is_frozen=parameter.role == "frozen",
        is_updated=treatment.updater is not None,
        is_pretraining=parameter.is_pretraining,
        axes=parameter.axes,
        file_shape=parameter.file_shape,
    )
    for constraint in role.constraints:
        check_dimensions(constraint, slot.name, role.n_axes)
    return role


def _updater(conf: TrainingOptions, kind: Kind | None) -> Updater:
    if kind == "biases" and conf.bias_updater is not None:
        return conf.bias_updater
    return conf.updater or NoOp() if kind else NoOp()


def _penalty(conf: TrainingOptions, kind: Kind | None) -> Penalty:
    if kind is None:
        return Penalty()
    l1, l2, decay = (
        _option(conf, option + _ENDINGS[kind])
        for option in ("l1", "l2", "weight_decay")
    )
    return Penalty(l1 or 0.0, l2 or 0.0, weight_decays(decay))


def _scored(conf: TrainingOptions, kind: Kind | None) -> Penalty:
    """Return the penalty of the score, whose derivative weight decay is not."""
    penalty = _penalty(conf, kind)
    if "weight_decay_in_score" in conf.quirks:
        return penalty
    return replace(penalty, weight_decays=())


def _constraints(
    conf: TrainingOptions, parameter: Parameter, own_name: str
) -> tuple[Constraint, ...]:
    given: tuple[Constraint, ...] = _option(conf, "constraints") or ()
    if parameter.role == "frozen":
        return ()
    names = {parameter.name, own_name, *parameter.treatment.groups}
    return tuple(
        constraint
        for constraint in given
        if not names.isdisjoint(constrained(constraint))
    )


def constrained(constraint: Constraint) -> tuple[str, ...]:
    """Return the names of parameters, or of their group, that a constraint is for."""
    apply_to = constraint.apply_to
    return (apply_to,) if isinstance(apply_to, str) else apply_to


def _option(conf: TrainingOptions, option: str) -> Any:
    """Return an option that layers without weights do not have."""
    return getattr(conf, option, None)

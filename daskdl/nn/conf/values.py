"""The base of all configuration values, and the kinds of options they are made of.

Strings are matched without case, ``_`` and ``-``; numbers of NumPy are taken for
Python's; a boolean is no number. What a value refuses is an
:class:`~daskdl.errors.OptionError`.
"""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from keyword import iskeyword
from operator import is_ as _is
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar, get_args

import numpy as np
from annotated_types import Ge, Gt, Le, Lt
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    GetCoreSchemaHandler,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
)
from pydantic_core import CoreSchema, core_schema

from daskdl.checks import normalised
from daskdl.dialects import Quirks
from daskdl.errors import OptionError
from daskdl.nn.conf.errors import NestedProblems, got, option_error
from daskdl.nn.conf.spellings import Taking, spelled

C = TypeVar("C", bound="Conf")


_POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD


def _signature_of(kind: type[BaseModel]) -> inspect.Signature:
    """Return what a class takes, for ``help``, editors and the documentation."""
    required = inspect.Parameter.empty
    parameters = [
        inspect.Parameter(
            name if iskeyword(field.alias or name) else field.alias or name,
            _POSITIONAL if field.kw_only is False else inspect.Parameter.KEYWORD_ONLY,
            default=required
            if field.is_required()
            else field.get_default(call_default_factory=True),
        )
        for name, field in kind.model_fields.items()
        if name != "type"  # the class says it
    ]
    parameters.sort(
        key=lambda parameter: (
            parameter.kind != _POSITIONAL,
            parameter.default is not required,
        )
    )
    return inspect.Signature(parameters)


if TYPE_CHECKING:
    Several = Sequence
    # They know of what it does for them only by this name.
    from pydantic._internal._model_construction import ModelMetaclass as _ConfClass
else:

    class Several:
        """A sequence of any kind where it is given, and a tuple where it is kept."""

        def __class_getitem__(cls, item: Any) -> Any:
            return tuple[item, ...]

    class _ConfClass(type(BaseModel)):
        """Keeps the signature short: pydantic's spells out every validator."""

        __signature__ = property(_signature_of, lambda cls, signature: None)


class Conf(BaseModel, metaclass=_ConfClass):
    """A frozen value: unknown keys and wrong types are refused when it is made.

    Attributes
    ----------
    quirks : frozenset of str
        What is computed otherwise than formulas say: nothing, unless the dialect of a
        network says so. See :func:`with_quirks`.
    """

    quirks: ClassVar[Quirks] = frozenset()

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True
    )

    def __init__(self, /, *first: Any, **data: Any) -> None:
        try:
            super().__init__(**_by_name(type(self), first, data))
        except ValidationError as error:
            who = type(self).__name__
            raise option_error(who, error, type(self)) from None

    # Without the mark pydantic would call this __init__ for nested values too, and
    # their errors would lose the path from the outermost one.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            super().__setattr__(name, value)
        except ValidationError:
            raise OptionError(
                f"{type(self).__name__}: {name} must stay what it is, since "
                f"configurations do not change, got {got(value)}. Make a changed one: "
                f"conf.replaced({name}=...)."
            ) from None

    @model_serializer(mode="wrap")
    def _keep_type(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Write `type` first even where defaults are left out: it names the class."""
        data: dict[str, Any] = handler(self)
        if "type" not in type(self).model_fields:
            return data
        data.pop("type", None)
        return {"type": getattr(self, "type"), **data}  # noqa: B009

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        """Yield what was said, without what has its default."""
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            is_default = not field.is_required() and value == field.get_default(
                call_default_factory=True
            )
            if name != "type" and not is_default:
                yield name, value

    def replaced(self: C, **changes: Any) -> C:
        """Return a copy with some options changed, checked like a new one."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return with_quirks(type(self)(**{**values, **changes}), self.quirks)

    def left_open(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """Return what `defaults` say for the options that are None here."""
        return {
            name: defaults[name]
            for name in type(self).model_fields
            if name in defaults and getattr(self, name) is None
        }


def _by_name(
    kind: type[Conf], first: tuple[Any, ...], data: dict[str, Any]
) -> dict[str, Any]:
    """Return options by name, those that were given by position among them.

    An option may stand first if its field says ``kw_only=False``.
    """
    if not first:
        return data
    fields = kind.model_fields.items()
    names = [name for name, field in fields if field.kw_only is False]
    taken = [name for name in names[: len(first)] if name in data]
    if len(first) > len(names) or taken:
        allowed = f"{', '.join(names)} by position" if names else "options by name"
        found = f"{', '.join(taken)} twice" if taken else f"{len(first)} by position"
        raise OptionError(f"{kind.__name__}: must be given {allowed}, got {found}.")
    return {**dict(zip(names, first, strict=False)), **data}


V = TypeVar("V")


def with_quirks(value: V, quirks: Quirks) -> V:
    """Return a configuration that has these quirks, with all that is in it.

    Parameters
    ----------
    value : Conf, tuple of them, or plain value
        What holds no configuration comes back as it is.
    quirks : frozenset of str
        See :mod:`daskdl.dialects`.
    """
    held: Any = value
    if isinstance(held, tuple):
        items = tuple(with_quirks(item, quirks) for item in held)
        return value if all(map(_is, items, held)) else items  # type: ignore[return-value]
    if not isinstance(held, Conf):
        return value
    changes = {}
    for name in type(held).model_fields:
        option = getattr(held, name)
        changed = with_quirks(option, quirks)
        if changed is not option:
            changes[name] = changed
    if not changes and held.quirks == quirks:
        return value
    copied: Any = held.model_copy(update=changes)
    # Beside the options, where neither comparisons nor files look.
    copied.__dict__["quirks"] = quirks
    return copied  # type: ignore[no-any-return]


def mappings_in(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every mapping in plain values, at any depth."""
    if isinstance(value, Mapping):
        yield value
        value = value.values()
    elif not isinstance(value, list | tuple):
        return
    for item in value:
        yield from mappings_in(item)


def validated(model: type[C], data: Any, who: str) -> C:
    """Return `data` as a `model`, or raise what is wrong with it as an OptionError."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise option_error(who, error, model) from None


def made(model: type[C], data: Mapping[str, Any]) -> C:
    """Return `data` as a `model`; refusals keep their place in what holds it."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise NestedProblems(error, model) from None


def plain(value: Any) -> Any:
    """Return a NumPy scalar as Python's number; refuse text and booleans."""
    if isinstance(value, bool | np.bool_ | str):
        raise ValueError(f"must be a number, got {got(value)}.")  # noqa: TRY004
    return value.item() if isinstance(value, np.generic) else value


def whole(value: Any) -> Any:
    """Refuse text and fractions where a whole number belongs."""
    number = value if isinstance(value, str) else plain(value)
    if not isinstance(number, int):
        raise ValueError(f"must be a whole number, got {got(value)}.")  # noqa: TRY004
    return number


def repeated(count: int) -> Taking:
    """Return a function that takes one number for all: ``3`` means ``(3, 3)``."""

    def repeat(value: Any) -> Any:
        return (value,) * count if _is_whole(value) else value

    return Taking(repeat, one_for_many=True)


def on_both_sides(n_axes: int) -> Taking:
    """Return a function that takes one number an axis for both of its sides.

    ``(1, 2)`` means ``(1, 1, 2, 2)`` on two axes, and ``1`` means 1 everywhere.
    """

    def expand(value: Any) -> Any:
        if _is_whole(value):
            return (value,) * (2 * n_axes)
        if n_axes > 1 and isinstance(value, tuple | list) and len(value) == n_axes:
            return tuple(item for item in value for _ in range(2))
        return value

    one_an_axis = {
        "type": "array",
        "items": {"type": "integer", "minimum": 0},
        "minItems": n_axes,
        "maxItems": n_axes,
    }
    return Taking(expand, (one_an_axis,) if n_axes > 1 else (), one_for_many=True)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


class AnySpelling:
    """Annotation of a Literal: takes its names in any spelling."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Return how pydantic finds the name that a user meant."""
        names = {normalised(name): name for name in get_args(source)}

        def find(value: Any) -> Any:
            is_text = isinstance(value, str)
            return names.get(normalised(value), value) if is_text else value

        return core_schema.no_info_before_validator_function(
            Taking(find, (spelled(names),)), handler(source)
        )


def tagged(union: Any, *, suffix: str = "") -> Taking:
    """Return a function that puts the exact `type` of a union into a mapping.

    Parameters
    ----------
    union : union of model classes
        Each with a literal field `type`.
    suffix : str
        May end the name: ``MergeVertex`` for ``merge``.

    Notes
    -----
    A bare name stands for a mapping with only that `type`.
    """
    tags: dict[str, str] = {}
    of: dict[type[BaseModel], tuple[str, ...]] = {}
    for model in get_args(union):
        tag = tag_of(model)
        of[model] = (tag, model.__name__, tag + suffix)
        tags |= {normalised(name): tag for name in of[model]}

    def find(value: Any) -> Any:
        if isinstance(value, str):
            value = {"type": value}
        if not isinstance(value, Mapping) or not isinstance(value.get("type"), str):
            return value
        tag = value["type"]
        return {**value, "type": tags.get(normalised(tag), tag)}

    alone = [name for model in of if stands_alone(model) for name in of[model]]
    return Taking(find, (spelled(alone),) if alone else ())


def tag_of(model: type[BaseModel]) -> str:
    """Return what `type` is in a mapping of this class."""
    tag: str = get_args(model.model_fields["type"].annotation)[0]
    return tag


def stands_alone(model: type[BaseModel]) -> bool:
    """Whether the name of a kind says it all: its options have defaults."""
    return not any(field.is_required() for field in model.model_fields.values())


def _names(value: object) -> object:
    """Take one name for a list of one."""
    return (value,) if isinstance(value, str) else value


Names = Annotated[Several[str], BeforeValidator(Taking(_names, one_for_many=True))]
# Bounds without a Field: pydantic 2.11.0 adds to one that several fields share.
Real = Annotated[float, BeforeValidator(plain)]
NonNegative = Annotated[float, Ge(0), BeforeValidator(plain)]
Positive = Annotated[float, Gt(0), BeforeValidator(plain)]
Fraction = Annotated[float, Ge(0), Lt(1), BeforeValidator(plain)]
Share = Annotated[float, Ge(0), Le(1), BeforeValidator(plain)]
Probability = Annotated[float, Gt(0), Le(1), BeforeValidator(plain)]
Whole = Annotated[int, BeforeValidator(whole)]
# NumPy's and Java's sizes go no further; products of sizes must not grow without end.
_LARGEST = (1 << 63) - 1
Count = Annotated[int, Gt(0), Le(_LARGEST), BeforeValidator(whole)]
Index = Annotated[int, Ge(0), Le(_LARGEST), BeforeValidator(whole)]
CountSingle = Annotated[tuple[Count], BeforeValidator(repeated(1))]
IndexSingle = Annotated[tuple[Index], BeforeValidator(repeated(1))]
CountPair = Annotated[tuple[Count, Count], BeforeValidator(repeated(2))]
IndexPair = Annotated[tuple[Index, Index], BeforeValidator(repeated(2))]
CountTriple = Annotated[tuple[Count, Count, Count], BeforeValidator(repeated(3))]
IndexTriple = Annotated[tuple[Index, Index, Index], BeforeValidator(repeated(3))]
Sides = Annotated[tuple[Index, Index], BeforeValidator(on_both_sides(1))]
SidesPair = Annotated[
    tuple[Index, Index, Index, Index], BeforeValidator(on_both_sides(2))
]
SidesTriple = Annotated[
    tuple[Index, Index, Index, Index, Index, Index], BeforeValidator(on_both_sides(3))
]

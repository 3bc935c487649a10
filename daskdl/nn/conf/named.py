"""Options that are a plain name, or a mapping where the named thing has options.

``activation: relu`` and ``activation: {type: leaky_relu, alpha: 0.3}`` are values of
the same option. A name stays text, so that configurations read as they were written.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_args

from daskdl.checks import normalised
from daskdl.errors import OptionError
from daskdl.nn.conf.errors import NestedProblems, PathError, got, one_of, option_error
from daskdl.nn.conf.kinds import AnyOf, Kinds
from daskdl.nn.conf.spellings import Taking, spelled
from daskdl.nn.conf.values import Conf, made, stands_alone, tag_of


def named(
    literal: Any,
    union: Any,
    *,
    aliases: Mapping[str, str] | None = None,
    elsewhere: Mapping[str, str] | None = None,
) -> Taking:
    """Return a function that makes the name or the model that a user meant.

    Parameters
    ----------
    literal : Literal
        The names that may stand alone.
    union : union of model classes
        Those with options, each with a literal field `type`. One whose `type` is not in
        `literal` cannot do without options: its bare name is refused with what is
        missing.
    aliases : mapping of str to str, optional
        Further spellings, and the names they mean.
    elsewhere : mapping of str to str, optional
        What other libraries say, and the names to ask for in its place.

    Returns
    -------
    function
        Takes a name, a mapping or a model, and returns a name or a model; for a field
        annotated with the union of both.
    """
    models: tuple[type[Conf], ...] = get_args(union)
    with_options = {tag_of(model): model for model in models}
    plain: tuple[str, ...] = get_args(literal)
    known = sorted({*plain, *with_options})
    spellings: dict[str, str] = {normalised(name): name for name in known}
    for alias, name in (aliases or {}).items():
        spellings[normalised(alias)] = name
    foreign = {normalised(name): ours for name, ours in (elsewhere or {}).items()}

    def name_of(text: str, *path: str) -> str:
        name = spellings.get(normalised(text))
        if name is None:
            meant = foreign.get(normalised(text))
            raise PathError(one_of(known, text, meant=meant), *path)
        return name

    def find(value: Any) -> Any:
        if isinstance(value, models):
            return value
        if isinstance(value, str):
            name = name_of(value)
            return name if name in plain else made(with_options[name], {"type": name})
        if not isinstance(value, Mapping) or not isinstance(value.get("type"), str):
            raise PathError(
                f"must be a name, or a mapping with a known `type`, got {got(value)}."
            )
        name = name_of(value["type"], "type")
        if name in with_options:
            return made(with_options[name], {**value, "type": name})
        if len(value) > 1:
            raise PathError(f"{name!r} has no options, got {got(value)}.")
        return name

    alone = {*plain, *(name for name, m in with_options.items() if stands_alone(m))}
    texts = [alias for alias, name in spellings.items() if name in alone]
    bare = {*plain, *(aliases or ())} - with_options.keys()
    return Taking(find, (spelled(texts), _with_type(bare)))


def or_registered(
    find: Taking,
    is_ours: Callable[[str], bool],
    kinds: Kinds,
    definition: type[Conf],
) -> Taking:
    """Return a finder that knows the kinds that users have registered, too.

    Parameters
    ----------
    find : function of :func:`named`
        Finds those of the package.
    is_ours : function of a name
        Whether the package has one of this name: it comes first.
    kinds : Kinds
        The registered ones.
    definition : type
        Their base class.
    """
    registered = AnyOf(kinds)

    def found(value: Any) -> Any:
        name = value.get("type") if isinstance(value, Mapping) else value
        is_registered = isinstance(value, definition) or (
            isinstance(name, str) and not is_ours(name) and kinds.find(name) is not None
        )
        return registered.validate(value) if is_registered else find(value)

    return Taking(found, find.also)


def _with_type(names: Iterable[str]) -> dict[str, Any]:
    """Return the schema of a mapping whose type has a spelling of its own."""
    return {
        "type": "object",
        "properties": {
            "type": {"allOf": [spelled(names)], "description": "Which one it is."}
        },
        "required": ["type"],
    }


def found(who: str, find: Callable[[Any], Any], value: Any) -> Any:
    """Return ``find(value)``; refusals are in the name of `who`.

    Raises
    ------
    OptionError
        If `find` of :func:`named` refuses the value.
    """
    try:
        return find(value)
    except PathError as error:
        raise OptionError(f"{who}: {error}") from None
    except NestedProblems as problems:
        raise option_error(who, problems.error, problems.model) from None

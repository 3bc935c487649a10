"""Objects of DL4J's JSON and the plain mappings that configurations here are made of.

Both ways are one table: a Java class, the `type` that says the same here, and for each
of its properties the option and how the value changes.
"""

import importlib.metadata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from daskdl.checks import did_you_mean
from daskdl.errors import FormatError

Json = Any
T = TypeVar("T")

GROUP = "daskdl.dl4j_classes"
_SHOWN = 100


def _as_it_is(value: Json, where: str) -> Any:
    return value


def _written_as_it_is(value: Any) -> Json:
    return value


@dataclass(frozen=True)
class Codec:
    """How one value is read and written.

    Parameters
    ----------
    read : function of (JSON value, where) -> value
        `where` is the path for messages.
    write : function of value -> JSON value
        The other way.
    """

    read: Callable[[Json, str], Any]
    write: Callable[[Any], Json]


PLAIN = Codec(_as_it_is, _written_as_it_is)


@dataclass(frozen=True)
class Key:
    """One property.

    Parameters
    ----------
    option : str
        What it is called here.
    codec : Codec
        How its value changes.
    missing : object
        What a file without the property means; None leaves the option to its default.
    is_optional : bool
        Whether DL4J leaves the property out where it is null.
    """

    option: str
    codec: Codec = PLAIN
    missing: Any = None
    is_optional: bool = False


@dataclass(frozen=True)
class JavaClass:
    """One Java class.

    Parameters
    ----------
    name : str
        Without its package.
    tag : str
        The `type` of the mapping here.
    keys : mapping of str to Key
        By property.
    first : sequence of str
        Properties of an annotated constructor, which Jackson writes before the others;
        these are in alphabetical order.
    ignored : mapping of str to JSON value
        Properties without a meaning here, and what is written for them.
    package : str, optional
        With a dot at its end, where it is not that of the table.
    """

    name: str
    tag: str
    keys: Mapping[str, Key] = field(default_factory=dict)
    first: Sequence[str] = ()
    ignored: Mapping[str, Json] = field(default_factory=dict)
    package: str | None = None

    def read(self, value: Mapping[str, Json], where: str) -> dict[str, Any]:
        """Return the mapping that says the same; unknown properties are ignored."""
        result: dict[str, Any] = {"type": self.tag}
        for name, key in self.keys.items():
            if name in value:
                came = value[name]
                if came is not None:
                    result[key.option] = key.codec.read(came, f"{where}.{name}")
            elif key.missing is not None:
                result[key.option] = key.missing
        return result

    def write(self, options: Mapping[str, Any]) -> dict[str, Json]:
        """Return the properties in Jackson's order, without the class."""
        values: dict[str, Json] = dict(self.ignored)
        for name, key in self.keys.items():
            value = options.get(key.option)
            if value is not None:
                values[name] = key.codec.write(value)
            elif not key.is_optional:
                values[name] = None
        return in_order(values, self.first)


class JavaTable:
    """The classes that one property may hold.

    Parameters
    ----------
    what : str
        For messages: ``"updater"``.
    package : str
        Of all classes.
    classes : sequence of JavaClass
        One for each `type` here; of several with one tag the first is written.
    type_key : str
        The property that names the class.
    aliases : mapping of str to str
        Class names of older releases, and those that are meant.
    """

    def __init__(
        self,
        what: str,
        package: str,
        classes: Sequence[JavaClass],
        *,
        type_key: str = "@class",
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        self._what = what
        self._package = package
        self._type_key = type_key
        self._aliases = dict(aliases or {})
        self._by_name = {item.name: item for item in classes}
        self._by_tag = {item.tag: item for item in reversed(classes)}

    @property
    def codec(self) -> Codec:
        """The table as a codec: names without options are read as plain names."""
        return Codec(self.read, self.write)

    def read(self, value: Json, where: str) -> Any:
        """Return the name, or the mapping with `type`, that an object says.

        Raises
        ------
        FormatError
            If the class is none of the table.
        """
        mapping = expect_mapping(value, where)
        full = mapping.get(self._type_key)
        if not isinstance(full, str):
            raise FormatError(
                f"{where}: must name its class as {self._type_key!r}, got "
                f"{shown(full)}."
            )
        name = simple_name(full)
        name = self._aliases.get(name, name)
        known = self._by_name.get(name)
        if known is None:
            read = registered(full)
            if read is not None:
                return read(mapping, where)
            raise FormatError(
                f"{where}: must be {_a(self._what)} that DL4J has, got "
                f"{shown(full)}."
                f"{did_you_mean(name, self._by_name)} Register a reader of that class "
                f"in the entry-point group {GROUP!r}."
            )
        result = known.read(mapping, where)
        return known.tag if list(result) == ["type"] else result

    def write(self, value: Any) -> dict[str, Json]:
        """Return the object that says the same as a name or mapping."""
        options = {"type": value} if isinstance(value, str) else value
        tag = options["type"]
        if tag not in self._by_tag:
            raise FormatError(
                f"DL4J: has no {self._what} {tag!r}. Save the network in daskdl's own "
                "format."
            )
        known = self._by_tag[tag]
        package = self._package if known.package is None else known.package
        return {self._type_key: package + known.name, **known.write(options)}


def registered(full: str) -> Callable[[Mapping[str, Json], str], Any] | None:
    """Return the reader that a package has registered for a class of one's own.

    Parameters
    ----------
    full : str
        The Java class, with its package: the name of the entry point.

    Returns
    -------
    function of (JSON object, where) -> name or mapping, or None
        It says which kind of daskdl's does the same. None if nobody has one.
    """
    for found in importlib.metadata.entry_points(group=GROUP, name=full):
        reader: Callable[[Mapping[str, Json], str], Any] = found.load()
        return reader
    return None


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def simple_name(full: str) -> str:
    """Return the name of a Java class without its package."""
    return full.rpartition(".")[2]


def in_order(values: Mapping[str, Json], first: Sequence[str] = ()) -> dict[str, Json]:
    """Return properties as Jackson orders them: those in `first`, then by name."""
    rest = sorted(name for name in values if name not in first)
    return {name: values[name] for name in [*first, *rest] if name in values}


def expect_mapping(value: Json, where: str) -> Mapping[str, Json]:
    """Return a JSON object, or refuse any other value."""
    if not isinstance(value, Mapping):
        raise FormatError(f"{where}: must be an object, got {shown(value)}.")
    return value


def expect_list(value: Json, where: str) -> list[Json]:
    """Return a JSON array, or refuse any other value."""
    if not isinstance(value, list):
        raise FormatError(f"{where}: must be a list, got {shown(value)}.")
    return value


def expect_names(value: Json, where: str) -> list[str]:
    """Return a JSON array of texts, or refuse any other value."""
    for name in expect_list(value, where):
        if not isinstance(name, str):
            raise FormatError(f"{where}: must be a list of names, got {shown(name)}.")
    return list(value)


def expect_flag(value: Json, where: str) -> bool:
    """Return true or false, or refuse any other value."""
    if not isinstance(value, bool):
        raise FormatError(f"{where}: must be true or false, got {shown(value)}.")
    return value


def look_up(names: Mapping[str, T], value: Json, where: str) -> T:
    """Return the meaning of a name, or refuse an unknown one."""
    if not isinstance(value, str) or value not in names:
        raise FormatError(
            f"{where}: must be one of {', '.join(names)}, got {shown(value)}."
        )
    return names[value]


def shown(value: Json) -> str:
    """Return a value as text, shortened for messages."""
    # What is to be cut off is not even written: it may be huge.
    text = repr(value[:_SHOWN] if isinstance(value, str) else value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."

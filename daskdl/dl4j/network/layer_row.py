"""A layer in DL4J's JSON as a row of a table: its class, properties and options.

Properties that say nothing here, such as the choice of a cuDNN algorithm, are kept in
the option `dl4j` of the layer if they differ from what DL4J writes by default, so that
a network goes back as it came.
"""

import importlib.metadata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from daskdl.checks import did_you_mean
from daskdl.dl4j.network.json_objects import (
    Codec,
    JavaClass,
    Json,
    Key,
    expect_mapping,
    in_order,
    shown,
)
from daskdl.dl4j.network.training import (
    read_regularization,
    with_lost_schedule,
    write_regularization,
)
from daskdl.errors import FormatError

GROUP = "daskdl.dl4j_layers"
PACKAGE = "org.deeplearning4j.nn.conf.layers."


@dataclass(frozen=True)
class LayerRow:
    """One layer in DL4J's JSON.

    Parameters
    ----------
    java : JavaClass
        Class, `type` here, and properties.
    package : str
        Of the class.
    is_regularized : bool
        Whether it has lists of regularizations.
    """

    java: JavaClass
    package: str = PACKAGE
    is_regularized: bool = False

    @property
    def tag(self) -> str:
        """The `type` of such a layer in mappings."""
        return self.java.tag

    def read(self, value: Mapping[str, Json], where: str) -> dict[str, Any]:
        """Return the mapping of a layer; properties unknown here go to `dl4j`."""
        self._check_twins(value, where)
        value = with_lost_schedule(value)
        mapping = self.java.read(value, where)
        if self.is_regularized:
            for name in _SUFFIXES:
                given = value.get(name)
                mapping.update(self._penalties(name, given, f"{where}.{name}"))
        kept = {
            name: item
            for name, item in value.items()
            if self._is_kept(name, item, f"{where}.{name}")
        }
        return {**mapping, "dl4j": kept} if kept else mapping

    @property
    def options(self) -> set[str]:
        """The options that a property stands for."""
        return {key.option for key in self.java.keys.values()}

    def write(self, layer: Mapping[str, Any]) -> dict[str, Json]:
        """Return the properties of a layer in DL4J's order, with the class."""
        kept = layer.get("dl4j") or {}
        values = self.java.write(layer)
        if self.is_regularized:
            for name, suffix in _SUFFIXES.items():
                values[name] = write_regularization(layer, suffix)
        values.update(self._still_true(kept, layer))
        name = f"{self.package}{self.java.name}"
        return {"@class": name, **in_order(values, self.java.first)}

    def _is_kept(self, name: str, item: Json, where: str) -> bool:
        """Whether the property would not be written as it is from the options."""
        if name == "@class":
            return False
        suffix = self._suffix(name)
        if suffix is not None:
            penalties = self._penalties(name, item, where)
            written = _written(
                lambda options: write_regularization(options, suffix), penalties, where
            )
            return bool(written != item)
        key = self.java.keys.get(name)
        if key is None:
            return name not in self.java.ignored or item != self.java.ignored[name]
        return item is not None and _rewritten(key, item, where) != item

    def _still_true(
        self, kept: Mapping[str, Json], layer: Mapping[str, Any]
    ) -> dict[str, Json]:
        """Leave out kept properties of an option that has been changed since."""
        return {
            name: item for name, item in kept.items() if self._means(name, item, layer)
        }

    def _means(self, name: str, item: Json, layer: Mapping[str, Any]) -> bool:
        if self._suffix(name) is not None:
            penalties = self._penalties(name, item, name)
            return all(layer.get(key) == value for key, value in penalties.items())
        key = self.java.keys.get(name)
        if key is None:
            return True
        option = layer.get(key.option)
        return option is not None and bool(
            _rewritten(key, item, name) == key.codec.write(option)
        )

    def _suffix(self, name: str) -> str | None:
        return _SUFFIXES.get(name) if self.is_regularized else None

    def _penalties(self, name: str, item: Json, where: str) -> dict[str, Any]:
        given = [] if item is None else item
        return read_regularization(given, where, _SUFFIXES[name])

    def _check_twins(self, value: Mapping[str, Json], where: str) -> None:
        """Refuse properties of one option that differ, as both ways of a layer."""
        names: dict[str, str] = {}
        for name, key in self.java.keys.items():
            twin = names.setdefault(key.option, name)
            if value.get(twin) != value.get(name):
                raise FormatError(
                    f"{where}: must have the same in {twin!r} and {name!r}, got two "
                    "that differ."
                )


def _rewritten(key: Key, item: Json, where: str) -> Json:
    """Return a property as it would be written again."""
    if key.codec is LAYER:
        # A layer within a layer keeps what is its own, and reading it again at each
        # level would double the time with each.
        return item
    return _written(key.codec.write, key.codec.read(item, where), where)


def _written(write: Callable[[Any], Json], value: Any, where: str) -> Json:
    """Write a value that was read; refuse it if it cannot be written back."""
    try:
        return write(value)
    except (LookupError, TypeError, ValueError, ArithmeticError) as error:
        raise FormatError(
            f"{where}: must be what DL4J writes there, got {shown(value)} "
            f"({error!s:.100})."
        ) from error


_SUFFIXES = {"regularization": "", "regularizationBias": "_bias"}


ROWS: dict[str, LayerRow] = {}
BY_TAG: dict[str, LayerRow] = {}


def register_rows(rows: Iterable[LayerRow]) -> None:
    """Make rows known; of several classes with one `type` the first is written."""
    for row in rows:
        ROWS[row.java.name] = row
        BY_TAG.setdefault(row.java.tag, row)


def read_layer(value: Json, where: str) -> dict[str, Any]:
    """Return the mapping of a layer that an object of DL4J describes.

    Raises
    ------
    FormatError
        If the class is no layer known here, naming it and where to register it.
    """
    mapping = expect_mapping(value, where)
    full = mapping.get("@class")
    if not isinstance(full, str):
        raise FormatError(
            f"{where}: must name its class as '@class', got {shown(full)}."
        )
    name = full.rpartition(".")[2]
    row = ROWS.get(name)
    if row is not None and full == f"{row.package}{name}":
        return row.read(mapping, where)
    for found in importlib.metadata.entry_points(group=GROUP, name=full):
        layer: dict[str, Any] = found.load().read(mapping, where)
        return layer
    raise FormatError(
        f"{where}: must be a layer that is known here, got {shown(full)}."
        f"{did_you_mean(name, ROWS)} Register a reader of that class in the "
        f"entry-point group {GROUP!r}."
    )


def write_layer(layer: Mapping[str, Any]) -> dict[str, Json]:
    """Return the object of DL4J that describes a layer given as a mapping.

    Raises
    ------
    FormatError
        If DL4J has no such layer.
    """
    tag = layer["type"]
    if tag in BY_TAG:
        return BY_TAG[tag].write(layer)
    for found in importlib.metadata.entry_points(group=GROUP):
        row = found.load()
        if row.tag == tag:
            written: dict[str, Json] = row.write(layer)
            return written
    raise FormatError(
        f"DL4J: has no layer {tag!r}. Save the network in daskdl's own format, or "
        f"register a writer of that layer in the entry-point group {GROUP!r}."
    )


# Wrappers hold layers of any kind, also of families that are entered later.
LAYER = Codec(read_layer, write_layer)

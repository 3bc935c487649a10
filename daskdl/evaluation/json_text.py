"""Evaluations as JSON text, in the format that is installed for their class."""

from typing import Any, TypeVar

from daskdl.class_files import class_file

__all__ = ["json_of", "of_json"]

E = TypeVar("E")


def json_of(name: str, evaluation: Any, **options: Any) -> str:
    """Return the text of an evaluation of the class of that name."""
    text: str = class_file(name).write(evaluation, **options)
    return text


def of_json(name: str, kind: type[E], text: str) -> E:
    """Return the evaluation of a text, of the class of that name or of one below it."""
    evaluation: E = class_file(name).read(text, kind)
    return evaluation

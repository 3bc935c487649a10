"""Errors of a worker reach the client as they are: the same class, the same message."""

import pytest
from distributed.core import clean_exception, error_message

from daskdl import errors

CLASSES = [
    each
    for each in vars(errors).values()
    if isinstance(each, type) and issubclass(each, errors.DaskdlError)
]


@pytest.mark.parametrize("kind", CLASSES)
def test_an_error_survives_the_way_from_worker_to_client(kind):
    """Dask pickles with tblib, which looks up ``__new__`` along the bases."""
    try:
        raise kind("who: what, got what.")
    except kind as error:
        sent = error_message(error)
    _, travelled, _ = clean_exception(sent["exception"].data, sent["traceback"].data)
    assert type(travelled) is kind
    assert str(travelled) == "who: what, got what."


@pytest.mark.parametrize("kind", CLASSES)
def test_every_message_can_be_printed(kind):
    """Names in damaged files may have halves of characters."""
    assert str(kind("file.seq: class \ud800.")) == "file.seq: class \\ud800."

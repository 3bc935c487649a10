"""What failed in Python of Spark's executors, as the error that it was there.

Spark hands over a text with the traceback of the executor in it: in Java's exception on
classic Spark, as the message of its own classes elsewhere and on Spark Connect.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from daskdl import errors
from daskdl.errors import DaskdlError, DataError
from daskdl_bridge.element_blocks import RefusedElementError
from daskdl_bridge.spark.old_dates import refused_old_dates

__all__ = ["telling_executor_errors"]

# The last line of a traceback: messages of daskdl are of one line.
_OF_DASKDL = re.compile(r"^(daskdl[\w.]*)\.(\w+): (.*)$", re.MULTILINE)

_TRACEBACK = "Traceback (most recent call last)"


@contextmanager
def telling_executor_errors(who: str) -> Iterator[None]:
    """Raise what daskdl refused in an executor as it would be raised here.

    Parameters
    ----------
    who : str
        For the note that other errors of the executors' Python get, where Python has
        notes (3.11).

    Raises
    ------
    DaskdlError
        Of the class and with the sentence that the executor had.
    """
    try:
        yield
    except DaskdlError:
        raise
    except Exception as error:
        text = str(error)
        refused = _refused(text) or refused_old_dates(who, text)
        if refused is not None:
            raise refused from error
        if _TRACEBACK in text and hasattr(error, "add_note"):
            error.add_note(
                f"{who}: Python failed in an executor of Spark, while it computed the "
                "data. The traceback from there is in the message above; if it names "
                "no file of daskdl, what the data are made by has failed, and does so "
                "without daskdl too."
            )
        raise


def _refused(text: str) -> DaskdlError | None:
    """Return the error of daskdl that a text tells of, the last one; None if none."""
    for module, name, sentence in reversed(_OF_DASKDL.findall(text)):
        kind = getattr(errors, name, None) if module == errors.__name__ else None
        if module == RefusedElementError.__module__:
            kind = DataError
        if isinstance(kind, type) and issubclass(kind, DaskdlError):
            return kind(sentence.strip())
    return None

"""Saving the trained network with retries, and a copy nearby meanwhile."""

import contextlib
import os
import tempfile
import time
import uuid
from collections.abc import Callable

from daskdl.data.retries import BROKEN, in_words, is_lasting
from daskdl.errors import DaskdlError, OutputError

__all__ = ["save_with_retries"]

# A NameNode takes ten and a half minutes to give up a DataNode, and hands it out until
# then.
LIMIT_S = 15 * 60.0
WAIT_S = 10.0


def save_with_retries(
    save: Callable[[str], None], url: str, *, name: str, tell: Callable[[str], None]
) -> None:
    """Save a network, and do not give up soon; have a copy at hand meanwhile.

    Parameters
    ----------
    save : callable
        Saves the network at a path or URL.
    url : str
        Where it belongs.
    name : str
        Beginning of the copy's name.
    tell : callable
        Takes a line for people.

    Raises
    ------
    OutputError
        If the store did not take it for a quarter of an hour, or says that waiting is
        of no use; the message names the copy.
    """
    deadline = time.monotonic() + LIMIT_S
    copy = ""
    while True:
        try:
            save(url)
            break
        except BROKEN as error:
            cause = error.__cause__ or error
            copy = copy or _keep(save, name, tell)
            if is_lasting(cause) or time.monotonic() > deadline:
                raise OutputError(
                    f"run: {url} must be written, the store does not take it: "
                    f"{in_words(cause)}. {_where(copy)}"
                ) from error
            tell(f"{url} is not written yet: {in_words(cause)}. Trying again.")
        except KeyboardInterrupt:
            copy = copy or _keep(save, name, tell)
            raise
        time.sleep(WAIT_S)
    if copy:
        with contextlib.suppress(OSError):
            os.remove(copy)
        tell(f"{url} is written; the copy {copy} is removed.")


def _keep(save: Callable[[str], None], name: str, tell: Callable[[str], None]) -> str:
    """Save a copy in the working directory, or else where temporary files are."""
    file_name = f"{name}-{uuid.uuid4().hex[:8]}.safetensors"
    for folder in (os.getcwd(), tempfile.gettempdir()):
        path = os.path.join(folder, file_name)
        try:
            save(path)
        except (OSError, DaskdlError):
            continue
        tell(f"model kept: {path}")
        return path
    return ""


def _where(copy: str) -> str:
    if not copy:
        return "It could not be kept in the working directory either."
    return f"The model is kept: move it from {copy}."

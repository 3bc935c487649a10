"""Memory that processes of one machine share, found by a path.

The one that makes it hands the path to the other, and unlinks it as soon as that has
answered: nothing is left behind but by a process that dies in between.
"""

import logging
import mmap
import os
import re
import sys
import uuid

logger = logging.getLogger(__name__)

_FOLDER = "/dev/shm"
_NAME = re.compile(r"daskdl-[0-9a-f]{32}")


def can_share_memory() -> bool:
    """Return whether there is such memory on this machine."""
    return sys.platform == "linux" and os.path.isdir(_FOLDER)


def create_memory(nbytes: int) -> tuple[mmap.mmap, str] | None:
    """Return new memory of a size in bytes and its path, None where there can be none.

    Only processes of the same user can open it.
    """
    if not can_share_memory():
        return None
    path = f"{_FOLDER}/daskdl-{uuid.uuid4().hex}"
    try:
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    except OSError as error:
        logger.info("No shared memory: %r", error)
        return None
    try:
        # Taken now: a page that there is no memory for later would end the process.
        os.posix_fallocate(file, 0, nbytes)
        return mmap.mmap(file, nbytes), path
    except OSError as error:
        logger.info("No shared memory of %d bytes: %r", nbytes, error)
        unlink_memory(path)
        return None
    finally:
        os.close(file)


def open_memory(path: str) -> mmap.mmap | None:
    """Return the memory at a path; None if it is not there, as on another machine."""
    folder, name = os.path.split(path)
    if not can_share_memory() or folder != _FOLDER or not _NAME.fullmatch(name):
        return None
    try:
        file = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        return mmap.mmap(file, 0)
    except (OSError, ValueError) as error:
        logger.info("No shared memory at %s: %r", path, error)
        return None
    finally:
        os.close(file)


def unlink_memory(path: str) -> None:
    """Remove a path; the memory stays as long as it is mapped."""
    try:
        os.unlink(path)
    except OSError as error:
        logger.info("Shared memory at %s stays: %r", path, error)

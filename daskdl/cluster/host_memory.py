"""Memory that processes of one machine share, found by a path.

The one that makes it hands the path to the other, and unlinks it as soon as that has
answered. What a process leaves that dies in between, :func:`sweep_memory` removes.
"""

import logging
import mmap
import os
import platform
import re
import sys
import time
import uuid
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

logger = logging.getLogger(__name__)

_FOLDER = "/dev/shm"
# Where arrays begin, as compilers like it.
ALIGNED_BYTES = 64
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_NAME = re.compile(r"daskdl-(\d+)-[0-9a-f]{32}")
# A path is there for moments; and a process of another container may look dead.
_STALE_S = 600.0


def can_share_memory() -> bool:
    """Return whether there is such memory on this machine."""
    return sys.platform == "linux" and os.path.isdir(_FOLDER)


def host_here() -> str:
    """Return a name that is equal in processes that can share memory, and in no others.

    It names the machine since it started, the memory that a container of it sees, and
    the user. Without such memory it is the name of the machine.
    """
    if not can_share_memory():
        return platform.node()
    try:
        with open(_BOOT_ID, encoding="ascii") as file:
            machine = file.read().strip()
        return f"{machine} {os.stat(_FOLDER).st_dev} {os.getuid()}"
    except OSError as error:
        logger.info("No name for the memory of this host: %r", error)
        return platform.node()


def create_memory(nbytes: int) -> tuple[mmap.mmap, str] | None:
    """Return new memory of a size in bytes and its path, None where there can be none.

    Only processes of the same user can open it.
    """
    if not can_share_memory():
        return None
    path = f"{_FOLDER}/daskdl-{os.getpid()}-{uuid.uuid4().hex}"
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


def put_arrays(arrays: Sequence[Bytes]) -> tuple[str, list[int]] | None:
    """Copy arrays of bytes into new memory.

    Parameters
    ----------
    arrays : sequence of ndarray of shape (nbytes,), uint8

    Returns
    -------
    path : str
    starts : list of int
        Where each array begins. None in place of both where there are no arrays, or
        there is no such memory.
    """
    starts, end = laid_out([array.nbytes for array in arrays])
    created = create_memory(end) if end else None
    if created is None:
        return None
    memory, path = created
    into = np.frombuffer(memory, np.uint8)
    for start, array in zip(starts, arrays, strict=True):
        into[start : start + array.nbytes] = array
    return path, starts


def laid_out(sizes: Sequence[int]) -> tuple[list[int], int]:
    """Return where arrays of so many bytes begin one behind the other, and the end.

    Each where compilers like it; the end is where another one would begin.
    """
    starts, end = [], 0
    for size in sizes:
        starts.append(end)
        end += -(-size // ALIGNED_BYTES) * ALIGNED_BYTES
    return starts, end


def arrays_at(
    path: str, starts: Sequence[int], sizes: Sequence[int]
) -> list[Bytes] | None:
    """Return the arrays of :func:`put_arrays` as they lie; None if they are not there.

    Parameters
    ----------
    path : str
    starts, sizes : sequence of int
        Where each begins, and how many bytes it has.

    Returns
    -------
    list of ndarray of shape (nbytes,), uint8
        They keep the memory.
    """
    memory = open_memory(path)
    if memory is None:
        return None
    whole: Bytes = np.frombuffer(memory, np.uint8)
    return [whole[at : at + size] for at, size in zip(starts, sizes, strict=True)]


def unlink_memory(path: str) -> None:
    """Remove a path, if it is there; the memory stays as long as it is mapped."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
    except PermissionError as error:
        logger.info("Shared memory at %s stays: %r", path, error)


def sweep_memory() -> None:
    """Remove paths that dead processes of this user left."""
    if not can_share_memory():
        return
    for name in os.listdir(_FOLDER):
        found = _NAME.fullmatch(name)
        if found is not None and _is_stale(f"{_FOLDER}/{name}", int(found[1])):
            unlink_memory(f"{_FOLDER}/{name}")


def _is_stale(path: str, pid: int) -> bool:
    try:
        status = os.stat(path)
    except OSError:
        return False
    is_old = time.time() - status.st_mtime > _STALE_S
    is_alive = os.path.isdir(f"/proc/{pid}")
    return is_old and not is_alive and status.st_uid == os.getuid()

"""Locks on directories, which tell whether their maker still lives. Local disks only.

It holds a lock on a file in the directory, which the kernel takes back when it ends,
however that happens. A lock may not be seen from another machine, so the file also says
under which run of the kernel it was made: elsewhere, and after a reboot, nobody knows.
"""

import contextlib
import os

__all__ = ["DirectoryLock", "is_abandoned", "is_held"]

_NAME = ".alive"
_BOOT_ID = "/proc/sys/kernel/random/boot_id"


class DirectoryLock:
    """The lock of this process on a directory that it makes.

    Parameters
    ----------
    directory : str
        A local path. Where no lock can be had, none is: the directory then counts as
        one of which nothing is known.

    Attributes
    ----------
    is_of_another : bool
        Whether another process has it.
    """

    def __init__(self, directory: str) -> None:
        self._path = os.path.join(directory, _NAME)
        self._file: int | None = None
        self.is_of_another = False
        if not (boot := _boot_id()):
            return
        import fcntl  # not on Windows, which tells no boot either

        with contextlib.suppress(OSError):
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.is_of_another = True
                self.release()
                return
            # Last, so that whoever reads it can rely on the lock.
            os.write(self._file, boot)

    def remove(self) -> None:
        """Remove the lock file, as the directory is no longer this process's alone."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._path)
        self.release()

    def release(self) -> None:
        """Let go of the lock, as the end of the process would."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def is_abandoned(directory: str) -> bool:
    """Return whether the process that made a directory has certainly ended."""
    return _is_locked(directory) is False


def is_held(directory: str) -> bool:
    """Return whether the process that made a directory certainly goes on."""
    return _is_locked(directory) is True


def _is_locked(directory: str) -> bool | None:
    """Return whether a directory is locked; None where nobody knows."""
    if not (boot := _boot_id()):
        return None
    import fcntl  # as above

    try:
        file = os.open(os.path.join(directory, _NAME), os.O_RDWR)
    except OSError:
        return None
    try:
        if os.read(file, 100) != boot:
            return None
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return None
    finally:
        os.close(file)
    return False


def _boot_id() -> bytes:
    """Return the id of this run of the kernel; empty if it has none."""
    try:
        with open(_BOOT_ID, "rb") as stream:
            return stream.read().strip()
    except OSError:
        return b""

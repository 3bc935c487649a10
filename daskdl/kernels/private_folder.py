"""Whether a folder may hold code that is run: it must be ours, and nobody else's."""

import os
import stat
from pathlib import Path


def fault_of(directory: Path) -> str | None:
    """Say why somebody else could put files into a folder, or another in its place.

    Parameters
    ----------
    directory : path
        That there is. Links are followed.

    Returns
    -------
    str or None
        What is wrong, with the folder where it is; None if all is well.

    Notes
    -----
    The folder itself must be ours. Those above may be root's, too; one that others may
    write must be sticky, as ``/tmp`` is, so that they cannot rename what is ours.
    """
    whole = directory.resolve()
    about = whole.stat()
    if about.st_uid != os.geteuid():
        return f"{whole} belongs to the user {about.st_uid}"
    if _is_open(about):
        return f"others may write {whole}"
    for parent in whole.parents:
        about = parent.stat()
        if about.st_uid not in (0, os.geteuid()):
            return f"{parent} belongs to the user {about.st_uid}"
        if _is_open(about) and not about.st_mode & stat.S_ISVTX:
            return f"others may write {parent}"
    return None


def _is_open(about: os.stat_result) -> bool:
    """Whether more than the owner may write; a group of one user is that user."""
    if about.st_mode & stat.S_IWOTH:
        return True
    return bool(about.st_mode & stat.S_IWGRP) and not _is_private_group(about)


def _is_private_group(about: os.stat_result) -> bool:
    # Many systems give every user a group, and new folders are writable to it.
    if about.st_gid != os.getegid() or about.st_uid != os.geteuid():
        return False
    import grp
    import pwd

    try:
        user = pwd.getpwuid(about.st_uid).pw_name
        group = grp.getgrgid(about.st_gid)
    except KeyError:
        return False
    return group.gr_name == user and set(group.gr_mem) <= {user}

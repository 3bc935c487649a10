"""The checks of ``daskdl doctor --hdfs``: a store, also from workers, and tickets."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

from daskdl.checks import some
from daskdl.cli.doctor_cluster_checks import CheckedCluster
from daskdl.cli.finding import Finding
from daskdl.data.filesystems import filesystem
from daskdl.data.store import entries_of, info_of, naming
from daskdl.errors import DaskdlError

__all__ = ["check_store", "seen_by_workers"]

_KLIST_S = 10.0


def check_store(url: str, cluster: CheckedCluster | None) -> Iterator[Finding]:
    """Look at a URL from here and from each worker, and for a ticket of Kerberos."""
    reason = _reason_against(url)
    yield Finding(
        f"store {url}",
        reason or _described(url),
        is_ok=not reason,
        to_do="see the message; HADOOP_CONF_DIR names the directory of core-site.xml",
    )
    if is_kerberos():
        yield _ticket()
    if cluster is not None:
        yield seen_by_workers(f"store {url}", url, {}, cluster)


def seen_by_workers(
    what: str, url: str, storage_options: dict[str, Any], cluster: CheckedCluster
) -> Finding:
    """Have each worker look whether it sees a path or URL."""
    answers = cluster.on_workers(_reason_against, url, storage_options)
    blind = [f"{a}: {reason}" for a, reason in sorted(answers.values.items()) if reason]
    return Finding(
        f"{what} on the workers",
        some(blind) or f"seen by {len(answers.values)} workers",
        is_ok=not blind,
        to_do="give workers the same extras and HADOOP_CONF_DIR, and name what all "
        "of them see",
    )


def _reason_against(url: str, storage_options: dict[str, Any] | None = None) -> str:
    """Return why a path or URL cannot be listed, or nothing."""
    try:
        with naming(url):
            fs, path = filesystem(url, storage_options)
            if info_of(fs, path) is None:
                return f"{url}: nothing is there"
    except (DaskdlError, OSError) as error:
        return str(error)
    return ""


def _described(url: str) -> str:
    fs, path = filesystem(url)
    info = info_of(fs, path)
    if info is None or info["type"] != "directory":
        return "answers, a file"
    return f"answers, a directory of {len(entries_of(fs, path)):,} entries"


def is_kerberos() -> bool:
    """Whether Hadoop's configuration asks for Kerberos, as this process sees it."""
    folder = os.environ.get("HADOOP_CONF_DIR", "")
    try:
        root = ElementTree.parse(os.path.join(folder, "core-site.xml")).getroot()
    except (OSError, ElementTree.ParseError):
        return False
    values = {one.findtext("name"): one.findtext("value") for one in root}
    return (values.get("hadoop.security.authentication") or "").strip() == "kerberos"


def _ticket() -> Finding:
    keytab = os.environ.get("KRB5_CLIENT_KTNAME")
    told = _valid_ticket() or (f"keytab {keytab}" if keytab else "")
    return Finding(
        "Kerberos",
        told or "no valid ticket, and KRB5_CLIENT_KTNAME is not set",
        is_ok=bool(told),
        to_do="kinit",
    )


def _valid_ticket() -> str:
    """Return the line of klist on a ticket that is valid, with its end; or nothing."""
    klist = shutil.which("klist")
    if klist is None:
        return ""
    how = {**os.environ, "LC_ALL": "C"}
    try:
        if subprocess.run([klist, "-s"], env=how, timeout=_KLIST_S).returncode:
            return ""
        listed = subprocess.run(
            [klist], env=how, timeout=_KLIST_S, capture_output=True, text=True
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = (line.split() for line in listed.splitlines() if "krbtgt/" in line)
    # Its beginning and its end, each a day and a time.
    ends = [" ".join(words[2:4]) for words in lines if len(words) > 3]
    return f"a ticket, valid until {ends[0]}" if ends else "a ticket"

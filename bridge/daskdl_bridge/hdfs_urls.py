"""URLs of HDFS taken apart as Hadoop does.

urlparse lowers a name service's case and ends a path at its first ``#`` or ``?``.
"""

from typing import Any

__all__ = ["host_and_port", "path_of"]


def path_of(url: Any) -> Any:
    """Return the path of a URL or of each in a list; a path stays as it is."""
    if isinstance(url, list):
        return [path_of(one) for one in url]
    _, scheme, rest = str(url).partition("://")
    if not scheme:
        return str(url) or "/"
    return "/" + rest.partition("/")[2]


def host_and_port(url: str) -> tuple[str | None, int | None]:
    """Return host or name service, and port, of a URL; None for what is not there."""
    authority = url.partition("://")[2].partition("/")[0]
    host, colon, port = authority.rpartition(":")
    if colon and port.isdigit():
        return host, int(port)
    return authority or None, None

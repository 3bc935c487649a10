"""What schedulers and workers have in common that daskdl starts, here or elsewhere.

Those of another cluster have its configuration, its certificates and its limits.
"""

from typing import Any

import dask
from dask.utils import parse_bytes
from distributed import Nanny, Security

from daskdl.cluster.ready_processes import worker_environment
from daskdl.errors import MissingExtraError, OptionError

__all__ = [
    "LoopbackNanny",
    "certificates",
    "check_memory_limit",
    "started_worker_config",
]

_PRE_SPAWN = "distributed.nanny.pre-spawn-environ"
_PRELOAD = "distributed.worker.preload"
# Where kernels are yet to be compiled a worker comes to 300 MiB for that, and to 360
# with blocks of data that it reads meanwhile; Dask ends it at 95 % of its limit.
_LEAST_MEMORY_MIB = 400
# A worker that trains holds parameters and batches inside one task: nothing that Dask
# could spill. `terminate` stays on, so that a leak kills a worker and not the machine.
_NO_SPILLING = {
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
}


class LoopbackNanny(Nanny):  # type: ignore[misc]
    """Lets its worker tell of itself here only; in Dask 2024.8 anybody may ask it."""

    def __init__(self, *args: Any, **options: Any) -> None:
        options["dashboard_address"] = "127.0.0.1:0"
        super().__init__(*args, **options)


def started_worker_config() -> dict[str, Any]:
    """Return what Dask's configuration is to hold where nannies start."""
    ours = worker_environment()
    preload = [*dask.config.get(_PRELOAD), "daskdl.cluster.local_worker"]
    return {
        **_NO_SPILLING,
        **{f"{_PRE_SPAWN}.{name}": value for name, value in ours.items()},
        _PRELOAD: preload,
    }


def certificates(who: str, security: str | None) -> Security | None:
    """Return certificates for one cluster alone, which touch no disk; or nothing.

    Parameters
    ----------
    who : str
        Whose option it is, for the message.
    security : {"tls", "none"} or None
        ``None`` is ``"tls"``.

    Raises
    ------
    MissingExtraError
        If the package cryptography is not there.
    """
    if security == "none":
        return None
    try:
        return Security.temporary()
    except ImportError as error:
        raise MissingExtraError(
            f"{who}: security 'tls' needs the package cryptography. Run: pip "
            "install cryptography, or set security to 'none' if nobody else can log "
            "in to this machine."
        ) from error


def check_memory_limit(who: str, option: str, limit: str | None) -> None:
    """Refuse what is no size, or too little for a worker that trains.

    Parameters
    ----------
    who, option : str
        For the message.
    limit : str or None
        ``"2 GiB"``; ``"auto"`` and ``None`` are Dask's to resolve.

    Raises
    ------
    OptionError
    """
    if limit is None or limit == "auto":
        return
    try:
        n_bytes: Any = parse_bytes(limit)
    except ValueError:
        n_bytes = 0
    if n_bytes <= 0:
        raise OptionError(
            f"{who}: {option} must be a size such as '2 GiB', or 'auto', got {limit!r}."
        )
    if n_bytes < _LEAST_MEMORY_MIB << 20:
        raise OptionError(
            f"{who}: {option} must be at least '{_LEAST_MEMORY_MIB} MiB', got "
            f"{limit!r}. A worker that compiles its kernels and reads data comes to "
            "360 MiB, and Dask ends it at 95 % of its limit."
        )

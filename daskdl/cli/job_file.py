"""Read a job file: the YAML, the overrides, and paths made whole."""

import os
import posixpath
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from daskdl.cli.imports import import_all, whole_names
from daskdl.cli.job import Job
from daskdl.cli.job_values import texts
from daskdl.cli.overrides import apply_overrides
from daskdl.cli.paths import resolve_path
from daskdl.data.files import open_input
from daskdl.errors import OptionError
from daskdl.nn.conf.errors import PathError, got, option_error
from daskdl.nn.conf.yaml import dump_yaml, load_yaml

__all__ = ["job_text", "load_job"]

_MOST_BYTES = 16 << 20
# What a cluster says of workers that it starts.
_STARTED_HERE = frozenset(
    [
        "type",
        "cuda_visible_devices",
        "rmm_pool_size",
        "memory_limit",
        "dashboard",
        "security",
    ]
)


def load_job(
    path: str,
    overrides: Iterable[str] = (),
    *,
    scheduler: str | None = None,
    output: str | None = None,
) -> Job:
    """Return the job that a file describes.

    Parameters
    ----------
    path : str
        Path or URL of the file. Relative paths in the job start at its folder.
    overrides : iterable of str
        ``key=value``; they are values of the job like those in the file.
    scheduler : str, optional
        Work on that cluster; what the job says about workers started here is left out.
    output : str, optional
        Instead of the job's; relative to the current folder.

    Raises
    ------
    SourceNotFoundError
        If there is no such file.
    OptionError
        If the file is no YAML or a key is unknown or has an illegal value.
    """
    with open_input(path) as stream:
        content = stream.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise OptionError(f"{path}: must have at most {_MOST_BYTES} bytes, got more.")
    values = load_yaml(content.decode("utf-8", "replace"), path)
    if not isinstance(values, dict):
        raise OptionError(f"{path}: must hold a mapping, got {got(values)}.")
    apply_overrides(values, overrides)
    if scheduler is not None:
        values["cluster"] = _on_scheduler(values.get("cluster"), scheduler)
    # In front of the network, which may be made of what they register.
    if values.get("imports"):
        values["imports"] = _imports(values["imports"], path)
        import_all(values["imports"], f"{path}: imports")
    try:
        job = Job.model_validate(values)
    except ValidationError as error:
        raise option_error("", error, Job, source=path) from None
    return _with_whole_paths(job, path, output)


def job_text(job: Job) -> str:
    """Return the job as YAML that gives the same job again, from any folder."""
    return dump_yaml(job.model_dump(mode="json", by_alias=True, exclude_defaults=True))


def _with_whole_paths(job: Job, path: str, output: str | None) -> Job:
    folder = _home(path)
    data = job.data.replaced(
        train=_resolve_all(folder, job.data.train),
        test=_resolve_all(folder, job.data.test),
        validation=_resolve_all(folder, job.data.validation),
        pretrain=_resolve_all(folder, job.data.pretrain),
    )
    if output is not None:
        whole = resolve_path(os.getcwd(), output)
    else:
        whole = resolve_path(folder, job.output or _default_output(path))
    model = job.model
    if model is not None:
        model = model.replaced(path=resolve_path(folder, model.path))
    return job.replaced(data=data, model=model, output=whole)


def _imports(given: Any, path: str) -> tuple[str, ...]:
    try:
        names = texts(given)
    except PathError as error:
        raise OptionError(f"{path}: {error.below('imports')}") from None
    return whole_names([names] if isinstance(names, str) else names, _home(path))


def _home(path: str) -> str:
    """Return the folder of the job, where its relative paths begin."""
    if "://" in path:
        return posixpath.dirname(path)
    return os.path.dirname(os.path.abspath(path))


def _resolve_all(folder: str, paths: str | tuple[str, ...] | None) -> Any:
    if paths is None or isinstance(paths, str):
        return None if paths is None else resolve_path(folder, paths)
    return tuple(resolve_path(folder, path) for path in paths)


def _default_output(path: str) -> str:
    name = posixpath.basename(path).rpartition(".")[0] or "job"
    return f"runs/{name}-{datetime.now().astimezone():%Y%m%d-%H%M%S}"


def _on_scheduler(cluster: Any, scheduler: str) -> Any:
    if not isinstance(cluster, Mapping):
        return {"scheduler": scheduler} if cluster is None else cluster
    kept = {key: value for key, value in cluster.items() if key not in _STARTED_HERE}
    return {**kept, "scheduler": scheduler}

"""What is at a path, in words and as facts: jobs, networks, runs, data."""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from daskdl.cli.bare_configuration import (
    is_bare_configuration,
    load_bare_configuration,
)
from daskdl.cli.job_file import load_job
from daskdl.cli.job_network import job_network
from daskdl.cli.job_run import checked_cluster
from daskdl.cli.network_facts import (
    Configuration,
    configuration_facts,
    configuration_lines,
    training_facts,
    training_lines,
)
from daskdl.cli.opening import open_for
from daskdl.cli.run_directory import MODEL, STATISTICS
from daskdl.cli.saved_model import open_model
from daskdl.cli.stored_columns import stored_columns
from daskdl.data.files import write_output
from daskdl.data.filesystems import filesystem
from daskdl.data.sources.source import Source, SourceOptions, open_source
from daskdl.data.store import entries_of, info_of, kind_of
from daskdl.errors import (
    CorruptFileError,
    DaskdlError,
    DataError,
    OptionError,
    SourceNotFoundError,
    StorageError,
)
from daskdl.formats.diagram.drawing import network_svg
from daskdl.formats.load import is_network

__all__ = ["Inspection", "inspect_path", "write_picture"]

_JOB_ENDINGS = (".yaml", ".yml")
_FILES_SHOWN = 10


@dataclass
class Inspection:
    """What was found.

    Attributes
    ----------
    kind : {'job', 'model', 'run', 'configuration', 'data'}
    facts : dict
        For JSON.
    text : str
        For people.
    conf : MultiLayerConfiguration or ComputationGraphConfiguration, optional
        Of the network, if there is one.
    """

    kind: str
    facts: dict[str, Any] = field(default_factory=dict)
    text: str = ""
    conf: Configuration | None = None


def inspect_path(path: str) -> Inspection:
    """Look at a path or URL.

    Raises
    ------
    SourceNotFoundError
        If nothing is there.
    OptionError, DataError, FormatError
        If what is there is wrong, as the command that uses it would say.
    """
    path = path.rstrip("/")
    fs, inside = filesystem(path)
    info = info_of(fs, inside)
    if info is None:
        raise SourceNotFoundError(f"{path}: must exist, nothing is there.")
    _check_is_something(info, path)
    kind = info["type"]
    if kind == "file" and is_bare_configuration(path):
        return _configuration(path)
    if path.endswith(_JOB_ENDINGS):
        return _job(path)
    if kind == "directory" and kind_of(fs, posixpath.join(inside, MODEL)) is not None:
        return _run(path, fs, inside)
    if kind == "file" and is_network(path):
        return _model(path)
    return _data(path)


def _check_is_something(info: Mapping[str, Any], path: str) -> None:
    if info["type"] not in ("file", "directory"):
        raise DataError(f"{path}: must be a file or a directory, got a device or pipe.")
    if info["type"] == "file" and info["size"] == 0:
        raise DataError(f"{path}: must hold something, the file is empty.")


def write_picture(found: Inspection, path_or_url: str, *, overwrite: bool) -> None:
    """Draw the network that was found, as an SVG file.

    Raises
    ------
    OptionError
        If no network was found.
    OutputExistsError
        If there is a file and `overwrite` is False.
    """
    if found.conf is None:
        raise OptionError(f"inspect: --svg must meet a network, got {found.kind}.")
    content = network_svg(found.conf).encode()
    write_output(path_or_url, lambda out: out.write(content), overwrite=overwrite)


def _job(path: str) -> Inspection:
    job = load_job(path)
    network = job_network(job)
    checked_cluster(job, network)
    lines = [f"job {path}", "", *configuration_lines(network.conf)]
    facts: dict[str, Any] = {"kind": "job", **configuration_facts(network.conf)}
    for name in ("train", "test"):
        paths = getattr(job.data, name)
        if paths is None:
            continue
        source = open_for(network, paths, job.data.source_options())
        lines += ["", f"{name}: {source.name}", *_source_lines(source)]
        facts[name] = _source_facts(source)
    if job.output and filesystem(job.output)[0].exists(filesystem(job.output)[1]):
        lines += ["", f"output: {job.output} exists, run with --overwrite replaces it"]
    return Inspection("job", facts, "\n".join(lines), network.conf)


def _run(path: str, fs: Any, inside: str) -> Inspection:
    found = _model(path)
    found.kind = found.facts["kind"] = "run"
    found.facts["files"] = sorted(
        posixpath.basename(entry) for entry in entries_of(fs, inside)
    )
    lines = [f"run {path}", "", found.text, "", "files: "]
    lines[-1] += ", ".join(found.facts["files"])
    if STATISTICS not in found.facts["files"]:
        lines.append(f"{STATISTICS} is missing: the run was cut short")
    found.text = "\n".join(lines)
    return found


def _model(path: str) -> Inspection:
    saved = open_model(path)
    network = saved.network
    trained = training_facts(network)
    facts = {"kind": "model", **configuration_facts(network.conf), **trained}
    lines = [
        f"model {saved.url}",
        "",
        *configuration_lines(network.conf),
        *training_lines(trained),
    ]
    return Inspection("model", facts, "\n".join(lines), network.conf)


def _configuration(path: str) -> Inspection:
    conf, _ = load_bare_configuration(path)
    facts = {"kind": "configuration", **configuration_facts(conf)}
    lines = [f"configuration of DL4J {path}", "", *configuration_lines(conf)]
    return Inspection("configuration", facts, "\n".join(lines), conf)


def _data(path: str) -> Inspection:
    columns = stored_columns(path)
    facts: dict[str, Any] = {"kind": "data", "columns": columns}
    lines = [f"data {path}"]
    if columns:
        width = max(map(len, columns))
        lines += ["columns:"]
        lines += [f"  {name:<{width}}  {kind}" for name, kind in columns.items()]
    try:
        source = open_source(path, _options_for_a_look(columns))
    except (SourceNotFoundError, CorruptFileError, StorageError):
        raise
    except DaskdlError as error:
        if not columns:
            raise
        # Which columns hold the features is not known here; all else still is told.
        lines.append(str(error))
        return Inspection("data", facts, "\n".join(lines))
    facts.update(_source_facts(source))
    return Inspection("data", facts, "\n".join([*lines, *_source_lines(source)]))


def _options_for_a_look(columns: dict[str, str]) -> SourceOptions:
    """Return options that open any data, without saying what the labels are."""
    features = "features" if "features" in columns else next(iter(columns), None)
    return SourceOptions(features=features, require_labels=False, require_success=False)


def _source_facts(source: Source) -> dict[str, Any]:
    rows = [partition.rows for partition in source.partitions]
    known = [number for number in rows if number is not None]
    return {
        "partitions": len(rows),
        "rows": sum(known) if len(known) == len(rows) else None,
        "minibatches": source.minibatches,
    }


def _source_lines(source: Source) -> list[str]:
    facts = _source_facts(source)
    rows = "not told without reading" if facts["rows"] is None else f"{facts['rows']:,}"
    lines = [f"{facts['partitions']} partitions, rows: {rows}"]
    for partition in source.partitions[:_FILES_SHOWN]:
        number = "" if partition.rows is None else f"  {partition.rows:,} rows"
        lines.append(f"  {posixpath.basename(partition.name)}{number}")
    more = len(source.partitions) - _FILES_SHOWN
    return [*lines, f"  and {more} more"] if more > 0 else lines

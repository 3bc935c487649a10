"""The contents of a path, as text and as facts: jobs, networks, runs, data."""

import itertools
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from daskdl.cli.bare_configuration import (
    is_bare_configuration,
    load_bare_configuration,
)
from daskdl.cli.data_opening import open_job_data
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
from daskdl.cli.run_directory import STATISTICS, is_of_one_run
from daskdl.cli.saved_model import open_model
from daskdl.data.files import write_output
from daskdl.data.filesystems import filesystem
from daskdl.data.sources.source import SourceOptions
from daskdl.data.sources.summary import summarize_data
from daskdl.data.store import entries_of, info_of, kind_of
from daskdl.errors import DataError, OptionError, SourceNotFoundError
from daskdl.formats.diagram.drawing import network_svg
from daskdl.formats.load import is_network
from daskdl.formats.run_network import network_in

__all__ = ["Inspection", "inspect_path", "write_picture"]

_JOB_ENDINGS = (".yaml", ".yml")
_FILES_SHOWN = 10

# A path that is none as it stands may be several.
_PATTERN = re.compile(r"[*?\[{,]")

_Parts = Sequence[tuple[str, int | None]]


@dataclass
class Inspection:
    """Facts about a job, network, run or data: for JSON, and for people.

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


def inspect_path(
    path: str, stored: Mapping[str, Any] | None = None, data_format: str | None = None
) -> Inspection:
    """Look at a path or URL.

    Parameters
    ----------
    path : str
        Of a job, a network, a run, or data, which may also be a pattern.
    stored : mapping of str to value, optional
        Options of sources: how data are stored.
    data_format : str, optional
        In which form.

    Raises
    ------
    SourceNotFoundError
        If nothing is there.
    OptionError, DataError, FormatError
        If what is there is wrong, as the command that uses it would say.
    """
    found = _found_at(path.rstrip("/"), {**(stored or {}), "format": data_format})
    if found.kind != "data" and (stored or data_format):
        raise OptionError(
            f"inspect: --option and --format must meet data, got a {found.kind}. A "
            "job says itself how its data are stored."
        )
    return found


def _found_at(path: str, how: Mapping[str, Any]) -> Inspection:
    options = SourceOptions(require_labels=False, require_success=False, **how)
    store = options.storage_options
    try:
        fs, inside = filesystem(path, store)
    except OptionError:
        # Of no file system: a table of a catalog, or a source says that it is nothing.
        return _data(path, options)
    info = info_of(fs, inside)
    if info is None and _PATTERN.search(path):
        return _data(path, options)
    if info is None:
        raise SourceNotFoundError(f"{path}: must exist, nothing is there.")
    _check_is_something(info, path)
    kind = info["type"]
    if kind == "file" and is_bare_configuration(path, store):
        return _configuration(path)
    if path.endswith(_JOB_ENDINGS):
        return _job(path)
    if kind == "directory" and (network_in(fs, inside) or is_of_one_run(fs, inside)):
        return _run(path, fs, inside)
    if kind == "file" and is_network(path, store):
        return _model(path)
    return _data(path, options)


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
    lines = [f"job {path}"]
    network = job_network(job, lines.append)
    checked_cluster(job, network)
    lines += ["", *configuration_lines(network.conf)]
    facts: dict[str, Any] = {"kind": "job", **configuration_facts(network.conf)}
    for name, source in open_job_data(network, job).items():
        parts = [(partition.name, partition.rows) for partition in source.partitions]
        lines += ["", f"{name}: {source.name}", *_part_lines(source.name, parts)]
        facts[name] = _part_facts(parts, minibatches=source.minibatches)
    if job.output and kind_of(*filesystem(job.output)) is not None:
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


def _data(path: str, options: SourceOptions) -> Inspection:
    found = summarize_data(path, options)
    columns = dict(found.columns)
    facts: dict[str, Any] = {
        "kind": "data",
        "columns": columns,
        "partition_columns": list(found.partition_columns),
        **_part_facts(found.parts, minibatches=found.minibatches),
    }
    lines = [f"data {path}"]
    if columns:
        width = max(map(len, columns))
        lines += ["columns:"]
        for name, kind in columns.items():
            more = ", a directory" if name in found.partition_columns else ""
            lines.append(f"  {name:<{width}}  {kind}{more}")
    lines += _part_lines(path, found.parts)
    if found.hint:
        facts["hint"] = found.hint
        lines += [found.hint]
    return Inspection("data", facts, "\n".join(lines))


def _part_facts(parts: _Parts, *, minibatches: bool) -> dict[str, Any]:
    known = [rows for _, rows in parts if rows is not None]
    return {
        "partitions": len(parts),
        "rows": sum(known) if len(known) == len(parts) else None,
        "minibatches": minibatches,
    }


def _part_lines(source: str, parts: _Parts) -> list[str]:
    facts = _part_facts(parts, minibatches=False)
    rows = "not told without reading" if facts["rows"] is None else f"{facts['rows']:,}"
    lines = [f"{facts['partitions']} partitions, rows: {rows}"]
    names = _below([name for name, _ in parts], source)
    for name, (_, number) in zip(names[:_FILES_SHOWN], parts, strict=False):
        lines.append(f"  {name}" + ("" if number is None else f"  {number:,} rows"))
    more = len(parts) - _FILES_SHOWN
    return [*lines, f"  and {more} more"] if more > 0 else lines


def _below(names: list[str], source: str) -> list[str]:
    """Return names without the directory that all have in common.

    Directories of partition columns are no such, even if there is only one.
    """
    root = f"{source.rstrip('/')}/"
    if not all(name.startswith(root) for name in names):
        folders = [name.split("/")[:-1] for name in names]
        shared = itertools.takewhile(
            lambda level: len(set(level)) == 1 and "=" not in level[0],
            zip(*folders, strict=False),
        )
        root = "".join(f"{level[0]}/" for level in shared)
    return [name.removeprefix(root) for name in names]

"""The checks of ``daskdl doctor --data``: heads of files, and the first part read."""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from daskdl.cli.doctor_cluster_checks import CheckedCluster
from daskdl.cli.doctor_store_checks import seen_by_workers
from daskdl.cli.finding import Finding
from daskdl.data.scan import scan_partition
from daskdl.data.sources.partition import Partition
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.data.sources.summary import summarize_data
from daskdl.errors import ColumnError, DaskdlError, OptionError

__all__ = ["check_data"]

_SHOWN = 12


def check_data(
    path: str, how: Mapping[str, Any], cluster: CheckedCluster | None
) -> Iterator[Finding]:
    """Look at data as a training would, without a network: only the first part is read.

    Parameters
    ----------
    path : str
        Path, URL or pattern.
    how : mapping of str to value
        Options of sources that were given.
    cluster : CheckedCluster, optional
        Whose workers must see the data.
    """
    options = SourceOptions(**{"require_labels": "label" in how, **how})
    form = _form(path, options)
    yield form
    if form.is_ok:
        yield _first_part(path, options)
    if cluster is not None:
        storage = options.storage_options
        yield seen_by_workers(f"data {path}", _above(path), storage, cluster)


def _above(path: str) -> str:
    """Return a path as workers know it; of a pattern the directory it begins in."""
    plain = re.split(r"[*?\[]", path, maxsplit=1)[0]
    if plain != path:
        plain = plain.rpartition("/")[0]
    return plain if "://" in plain else os.path.abspath(plain)


def _form(path: str, options: SourceOptions) -> Finding:
    what = f"data {path}"
    try:
        found = summarize_data(path, options)
    except (DaskdlError, OSError) as error:
        return Finding(what, str(error), is_ok=False, to_do="see the message")
    rows = [number for _, number in found.parts if number is not None]
    told = f"{sum(rows):,} rows" if len(rows) == len(found.parts) else "rows not told"
    columns = [f"{name} {kind}" for name, kind in found.columns.items()]
    texts = [f"{len(found.parts)} partitions", told]
    texts += ["each one minibatch"] if found.minibatches else []
    texts += [f"columns {', '.join(columns[:_SHOWN])}"] if columns else []
    texts += [f"{len(columns) - _SHOWN} more"] if len(columns) > _SHOWN else []
    return Finding(
        what, ", ".join(texts), is_ok=not found.hint, to_do=found.hint, is_needed=False
    )


def _first_part(path: str, options: SourceOptions) -> Finding:
    what = f"first part of {path}"
    try:
        source = open_source(path, options)
        first = next((part for part in source.partitions if part.rows != 0), None)
        told = (
            "no partition has rows"
            if first is None
            else _read(first, kept=options.handle_invalid == "keep")
        )
    except (ColumnError, OptionError) as error:
        return Finding(
            *(what, str(error)),
            is_ok=False,
            to_do="name the columns with --features and --label",
        )
    except (DaskdlError, OSError, MemoryError) as error:
        return Finding(what, str(error), is_ok=False, to_do="see the message")
    return Finding(what, told, is_ok=first is not None, to_do="write some")


def _read(partition: Partition, *, kept: bool) -> str:
    facts = scan_partition(partition, statistics=False)
    rows = facts.rows + facts.skipped
    texts = [f"{rows:,} rows"]
    if facts.skipped:
        done = "kept without a prediction" if kept else "skipped"
        texts += [f"{facts.skipped:,} of them {done}"]
    texts += [f"features {shape}" for shape in facts.features]
    texts += [f"labels {shape}" for shape in facts.labels]
    which = "those that are left" if facts.skipped else "all of them"
    use = f"{which} can be used" if facts.rows else "none can be used"
    return f"{', '.join(texts)}; {use}"

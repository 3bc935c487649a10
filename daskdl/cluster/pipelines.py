"""Data pipelines: what is done with data before a network is trained on them.

They take whatever a source opens, and a client for tasks on a cluster, one a partition.
Without a client everything runs in this process, with the same results.
"""

import os
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, TypeVar

from distributed import Client

from daskdl.checks import check_count, check_whole
from daskdl.cluster.partition_tasks import run_each, run_for_partitions
from daskdl.data.classes import ClassCounts, count_classes, merge_counts
from daskdl.data.new_directory import new_directory
from daskdl.data.shuffling import (
    BUCKET_BYTES,
    Scatter,
    shuffle_plan,
    shuffled_source,
    size_of,
)
from daskdl.data.sinks import open_sink
from daskdl.data.sources.partition import Partition, Source
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.data.split import check_fractions, count_for_split, split_source
from daskdl.data.written_examples import write_parts
from daskdl.dl4j.datasets.file_batches import plan_file_batches
from daskdl.errors import OptionError
from daskdl.nn.fitting.preparation import given_options
from daskdl.option_types import with_checked_types

__all__ = [
    "class_counts",
    "create_file_batches",
    "export_parquet",
    "shuffled",
    "split",
]

R = TypeVar("R")


@with_checked_types
def split(
    data: Any,
    fractions: Sequence[float],
    *,
    seed: int,
    stratify: bool = False,
    client: Client | None = None,
    options: SourceOptions | None = None,
    **source_options: Any,
) -> list[Source]:
    """Split data into parts at random, such as training and test data.

    Parameters
    ----------
    data
        What :func:`open_source` takes.
    fractions : sequence of float
        Of the examples that each part gets; they add up to 1.
    seed : int
        Decides, with its position in the data, which part an example is in: neither the
        partitions of the data nor workers matter.
    stratify : bool
        Give each part its fraction of every class.
    client : Client, optional
        Of a cluster that counts, a task a partition.
    options : SourceOptions, optional
        How `data` are stored. Single options can be given by name.

    Returns
    -------
    list of Source
        One a part, to be given wherever data are. Each example is in exactly one, in
        the order in which it is stored, and no part is off its fraction by a whole
        example; with `stratify` no class in it is.

    Raises
    ------
    OptionError
        If the fractions do not add up to 1, or an option is unknown.
    DataError
        If there is no example; with `stratify`, if labels are not one class an example.

    Notes
    -----
    Unless `dtype` is given, numbers keep their precision: float32 where it holds all
    that a column's type can tell, else float64; see :class:`SourceOptions`. Nothing is
    copied. Data are read once to be counted (not where their rows are known,
    as in Parquet, unless classes matter), and each part reads all of them and keeps
    what is its own. Minibatches that are stored as such are cut apart. Rows that
    ``handle_invalid="skip"`` leaves out are in no part, and counted by each.
    """
    who = "split"
    check_whole(who, "seed", seed)
    ends = check_fractions(fractions)
    source = _opened(who, data, given_options(who, options, source_options))
    count = partial(count_for_split, stratify=stratify)
    counts = run_for_partitions(client, who, source, _each(count, source))
    return split_source(source, ends, counts, seed=seed, stratify=stratify)


@with_checked_types
def class_counts(
    data: Any,
    *,
    client: Client | None = None,
    options: SourceOptions | None = None,
    **source_options: Any,
) -> ClassCounts:
    """Count the examples of each class.

    Parameters
    ----------
    data
        What :func:`open_source` takes. Labels are one-hot rows or numbers of classes.
    client : Client, optional
        Of a cluster that counts, a task a partition.
    options : SourceOptions, optional
        How `data` are stored. Single options can be given by name.

    Returns
    -------
    ClassCounts
        With `counts`, and `weights` for a loss.

    Raises
    ------
    DataError
        If labels are not one class an example.
    """
    who = "class_counts"
    source = _opened(who, data, given_options(who, options, source_options))
    each = run_for_partitions(client, who, source, _each(count_classes, source))
    return ClassCounts(merge_counts(each), source.class_names)


@with_checked_types
def shuffled(
    data: Any,
    directory: str | os.PathLike[str],
    *,
    seed: int,
    bucket_bytes: int = BUCKET_BYTES,
    client: Client | None = None,
    options: SourceOptions | None = None,
    **source_options: Any,
) -> Source:
    """Shuffle examples across all files, however many there are.

    Parameters
    ----------
    data
        What :func:`open_source` takes, without keys.
    directory : str or path
        To make, with room for all examples; on a cluster one that all workers reach.
        The source that is returned reads from it: remove it when that is done with.
    seed : int
        Decides the order, which neither the partitions of the data nor workers change.
    bucket_bytes : int
        What is put in order at a time. A worker takes some four times as much; larger
        buckets make fewer files, and fewer pieces in them.
    client : Client, optional
        Of a cluster that reads and writes, a task a partition.
    options : SourceOptions, optional
        How `data` are stored. Single options can be given by name.

    Returns
    -------
    Source
        Of buckets: give it wherever data are, or to what writes minibatches.

    Raises
    ------
    OptionError
        If an option is unknown, or names keys.
    OutputExistsError
        If there is something at `directory`.
    DataError
        If there is no example, or the data cannot be read. Nothing is left then.

    Notes
    -----
    Data are read twice, once to be counted, and written once, with the precision that
    :func:`split` keeps. DL4J's
    ``SparkUtils.shuffleExamples`` gives each example a random partition and mixes none
    within it.
    """
    who = "shuffled"
    check_whole(who, "seed", seed)
    check_count(who, "bucket_bytes", bucket_bytes)
    wanted = given_options(who, options, source_options)
    if wanted.key is not None:
        raise OptionError(
            f"{who}: key must be None, since the files that are written have no place "
            f"for keys, got {wanted.key!r}. Leave it out."
        )
    source = _opened(who, data, wanted)
    with new_directory(directory, wanted.storage_options) as url:
        sizes = run_for_partitions(client, who, source, _each(size_of, source))
        plan = shuffle_plan(source, sizes, seed=seed, bucket_bytes=bucket_bytes)
        scatter = Scatter(plan, url, bucket_bytes, wanted.storage_options)
        starts = accumulate((size.rows for size in sizes[:-1]), initial=0)
        numbered = enumerate(zip(source.partitions, starts, strict=True))
        passes = [partial(scatter.write, one, n, start) for n, (one, start) in numbered]
        files = run_for_partitions(client, who, source, passes)
    joined = [one for of_partition in files for one in of_partition]
    return shuffled_source(source, scatter, joined, seed=seed)


@with_checked_types
def export_parquet(
    data: Any,
    path_or_url: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    client: Client | None = None,
    options: SourceOptions | None = None,
    **source_options: Any,
) -> list[str]:
    """Write examples as a Parquet table that Spark and sources read.

    Parameters
    ----------
    data
        What :func:`open_source` takes: one input, at most one output, no masks.
    path_or_url : str or path
        Directory to make.
    overwrite : bool
        Replace what is there when all parts are written.
    client : Client, optional
        Of a cluster that writes, a task a partition.
    options : SourceOptions, optional
        How `data` are stored. Single options can be given by name.

    Returns
    -------
    list of str
        The part files, in order, each of some blocks of a partition.

    Raises
    ------
    OptionError
        If an option is unknown, or the key is of several columns or named so.
    OutputExistsError
        If there is something at `path_or_url` and `overwrite` is False.
    DataError
        If the data cannot be read, have masks, or are of several inputs or outputs.
        What was there before is there then.

    Notes
    -----
    The columns are ``features``, a vector of Spark, flat if examples have more axes;
    ``label``, a number, or a vector where there are several, as one-hot rows are; and
    that of the keys by its name, ``key`` where data in memory have some.
    Vectors hold doubles; a number is a float where it was one, or an integer of 16 bits
    at most, else a double, unless `dtype` says.
    """
    who = "export_parquet"
    wanted = given_options(who, options, source_options)
    source = _opened(who, data, wanted)
    key = (source.options or wanted).key or "key"
    if not isinstance(key, str) or key in ("features", "label"):
        raise OptionError(
            f"{who}: key must be one column of another name than 'features' and "
            f"'label', which are written, got {key!r}."
        )
    sink = open_sink(
        os.fspath(path_or_url),
        overwrite=overwrite,
        storage_options=wanted.storage_options,
    )
    try:
        sink.prepare()
        tasks = [
            partial(write_parts, sink, number, partition, key)
            for number, partition in enumerate(source.partitions)
        ]
        written = run_for_partitions(client, who, source, tasks)
        return sink.commit([path for of_partition in written for path in of_partition])
    except BaseException:
        sink.abort()
        raise


@with_checked_types
def create_file_batches(
    directory: str | os.PathLike[str],
    path_or_url: str | os.PathLike[str],
    *,
    batch_size: int,
    seed: int,
    extensions: Sequence[str] | None = None,
    recursive: bool = True,
    storage_options: dict[str, Any] | None = None,
    client: Client | None = None,
) -> list[str]:
    """Bundle many small files, such as images, in zips of some each.

    Parameters
    ----------
    directory : str or path
        With the files, on any store. Names that begin with ``_`` or ``.`` are skipped.
    path_or_url : str or path
        Directory to make, of another store if you like.
    batch_size : int
        Files of a zip; the last one may have fewer.
    seed : int
        Decides the order in which files come into zips.
    extensions : sequence of str, optional
        Take only files whose names end so.
    recursive : bool
        Take files of directories below, too.
    storage_options : dict, optional
        Handed to the file systems.
    client : Client, optional
        Of a cluster that writes, a task a zip.

    Returns
    -------
    list of str
        The zips, in order.

    Raises
    ------
    SourceNotFoundError
        If there is no file.
    OutputExistsError
        If there is something at `path_or_url`.

    References
    ----------
    ``SparkDataUtils.createFileBatchesLocal`` and ``createFileBatchesSpark`` of
    Deeplearning4j 1.0.0-M2.1, which name zips at random.
    """
    who = "create_file_batches"
    check_whole(who, "seed", seed)
    planned = plan_file_batches(
        directory,
        batch_size=batch_size,
        seed=seed,
        extensions=extensions,
        recursive=recursive,
        storage_options=storage_options,
    )
    with new_directory(path_or_url, dict(storage_options or {})) as url:
        tasks = [
            partial(batch.write, f"{url}/batch_{number:05d}.zip")
            for number, batch in enumerate(planned)
        ]
        return run_each(client, who, tasks)


def _opened(who: str, data: Any, options: SourceOptions) -> Source:
    source = open_source(data, options)
    opened = source.options or options
    given = {"keep": opened.keep, "handle_invalid": opened.handle_invalid}
    for option, value in given.items():
        if value not in (None, "error", "skip"):
            raise OptionError(
                f"{who}: {option} must be left out, got {value!r}: what stands beside "
                "predictions is of the data as they are stored."
            )
    return source


def _each(function: Callable[[Partition], R], source: Source) -> list[Callable[[], R]]:
    return [partial(function, partition) for partition in source.partitions]

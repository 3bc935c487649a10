"""Minibatches in DL4J's files, for jobs on a JVM: what its Export approach leaves.

::

    URL/data/dataset_0.bin, dataset_1.bin, ...   one minibatch each
    URL/paths/part-00000                         their URLs, one a line

The list comes last, and ``_SUCCESS`` beside it: who reads ``sc.textFile(URL/paths)``
gets a whole export. ``data`` holds nothing else, since DL4J loads every file of a
directory.
"""

from typing import Any

from daskdl.checks import check_count
from daskdl.data.blocks import minibatches_of
from daskdl.data.dataset import DataSet
from daskdl.data.files import write_output
from daskdl.data.filesystems import filesystem
from daskdl.data.new_directory import new_directory
from daskdl.data.sources.partition import Source
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.errors import OptionError
from daskdl.nn.fitting.preparation import given_options
from daskdl.option_types import with_checked_types

__all__ = ["export_datasets"]

_WHO = "export_datasets"


@with_checked_types
def export_datasets(
    data: Any,
    path_or_url: str,
    *,
    batch_size: int,
    options: SourceOptions | None = None,
    **source_options: Any,
) -> list[str]:
    """Write features and labels as minibatches that DL4J loads.

    Parameters
    ----------
    data
        What :func:`open_source` takes.
    path_or_url : str or path
        Directory to make: ``data`` in it holds the minibatches, ``paths`` their URLs.
    batch_size : int
        Examples of a minibatch, counted across the parts of the data; the last one may
        have fewer.
    options : SourceOptions, optional
        How `data` are stored. Single options can be given by name. The label column
        becomes one-hot rows with `n_classes`.

    Returns
    -------
    list of str
        URLs of the minibatches, in order, as in the list that is written.

    Raises
    ------
    OptionError
        If an option is unknown, or names keys: the files have no place for them.
    OutputExistsError
        If there is something at `path_or_url`.
    DataError
        If the data cannot be read. Nothing is left then.

    References
    ----------
    ``BatchAndExportDataSetsFunction`` of Deeplearning4j 1.0.0-M2.1. It begins anew in
    each partition, writes examples behind a full minibatch in reverse order, and drops
    some at the end; here every example is in one file, in order.
    """
    check_count(_WHO, "batch_size", batch_size)
    wanted = given_options(_WHO, options, source_options)
    if wanted.key is not None:
        raise OptionError(
            f"{_WHO}: key must be None, since DL4J's files have no place for keys, got "
            f"{wanted.key!r}. Leave it out."
        )
    source = open_source(data, wanted)
    with new_directory(path_or_url, wanted.storage_options):
        fs, path = filesystem(path_or_url, wanted.storage_options)
        return _export(source, fs, path, batch_size, wanted.storage_options)


def _export(
    source: Source, fs: Any, path: str, batch_size: int, storage: dict[str, Any]
) -> list[str]:
    urls = []
    fs.makedirs(f"{path}/data", exist_ok=True)
    blocks = (
        (partition.name, block)
        for partition in source.partitions
        for block in partition.load_blocks()
    )
    align = source.partitions[0].align if source.partitions else None
    minibatches = minibatches_of(blocks, batch_size, align)
    for number, minibatch in enumerate(minibatches):
        kind = "dataset" if isinstance(minibatch, DataSet) else "mds"
        # A scheme, since Hadoop's default file system may be another one.
        urls.append(str(fs.unstrip_protocol(f"{path}/data/{kind}_{number}.bin")))
        minibatch.save(urls[-1], storage_options=storage)
    text = "".join(f"{url}\n" for url in urls)
    fs.makedirs(f"{path}/paths", exist_ok=True)
    _write_text(fs, f"{path}/paths/part-00000", text, storage)
    _write_text(fs, f"{path}/paths/_SUCCESS", "", storage)
    return urls


def _write_text(fs: Any, path: str, text: str, storage: dict[str, Any]) -> None:
    url = str(fs.unstrip_protocol(path))
    write_output(url, lambda s: s.write(text.encode()), storage_options=storage)

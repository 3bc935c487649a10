"""The exceptions that daskdl raises on purpose.

Each is also the built-in that a caller would expect, so that plain Python code can
catch it without importing this module::

    DaskdlError
    ├── OptionError (ValueError)           an option is wrong: fix the call
    ├── ShapeError (ValueError)            an array has the wrong shape: fix the call
    ├── DataError (ValueError)             the data cannot be used as they are
    │   ├── SourceNotFoundError (FileNotFoundError)
    │   ├── UnfinishedJobError             a directory without _SUCCESS
    │   ├── ChangedFileError               a file was rewritten while it was in use
    │   ├── ColumnError                    a column is missing or has the wrong type
    │   ├── CorruptFileError               also a FormatError: cut short or damaged
    │   └── StorageError (OSError)         a store refused, broke off or did not answer
    ├── FormatError (ValueError)           a stored file is unreadable
    ├── OutputError (OSError)              an output is not in its place: try again
    ├── OutputExistsError (FileExistsError)  an output is already there
    ├── MissingExtraError (ImportError)    an optional package is not installed
    ├── ClusterError (RuntimeError)        the cluster cannot do what was asked
    │   ├── SchedulerUnreachableError (TimeoutError)
    │   ├── VersionMismatchError
    │   ├── WorkerLostError                too many workers went: retry
    │   ├── StepTimeoutError (TimeoutError)  no answer in time
    │   └── BusClosedError                 the topic or the bus was closed
    ├── DeviceError (RuntimeError)         a GPU was asked for and is not there
    ├── DivergedError (ArithmeticError)    training gave a score that is no number
    ├── NetworkBusyError (RuntimeError)    another thread trains the network: wait
    └── StaleMessageError (ValueError)     a message of an older round: drop it
        └── DamagedMessageError            also a DataError: bits changed on the way

Where two bases are built-ins, the one that is an OSError comes first: an OSError has
fields of its own, and only in this order can Dask unpickle the error at the client.
"""


class DaskdlError(Exception):
    """Base of every error that daskdl raises on purpose."""

    def __str__(self) -> str:
        """Return the message, which a terminal and a log can hold.

        A name in a damaged file may have halves of characters, which are escaped.
        """
        return super().__str__().encode(errors="backslashreplace").decode()


class OptionError(DaskdlError, ValueError):
    """An option or a combination of options is wrong."""


class ShapeError(DaskdlError, ValueError):
    """An array does not have the shape that its receiver needs."""


class DataError(DaskdlError, ValueError):
    """Data cannot be used as they are; the message names path, column and row."""


class SourceNotFoundError(FileNotFoundError, DataError):
    """Nothing is stored at the path."""

    # That of an OSError would come first.
    __str__ = DaskdlError.__str__


class UnfinishedJobError(DataError):
    """A directory holds no ``_SUCCESS``: the job that writes it has not finished."""


class ChangedFileError(DataError):
    """A file was rewritten after it was listed; rows of both would be mixed."""


class ColumnError(DataError):
    """A column is missing or has a type that cannot be used."""


class StorageError(OSError, DataError):
    """A store refused an operation or broke it off; the message names the path."""

    __str__ = DaskdlError.__str__


class FormatError(DaskdlError, ValueError):
    """A stored file cannot be read: damaged, of another kind, or too new."""


class CorruptFileError(DataError, FormatError):
    """A file ends too early or is damaged; the message gives the offset if known."""


class OutputError(DaskdlError, OSError):
    """A store did not take an output; the message says what is kept, and where."""


class OutputExistsError(DaskdlError, FileExistsError):
    """The output path exists and overwriting was not asked for."""


class UnfinishedOutputError(OutputExistsError):
    """At the output path is what another job has not finished."""


class MissingExtraError(DaskdlError, ImportError):
    """An optional package is not installed; the message says how to install it."""


class ClusterError(DaskdlError, RuntimeError):
    """The cluster cannot do what was asked."""


class SchedulerUnreachableError(TimeoutError, ClusterError):
    """No scheduler answered at the address in time."""

    __str__ = DaskdlError.__str__


class VersionMismatchError(ClusterError):
    """Client, scheduler and workers run versions that do not go together."""


class WorkerLostError(ClusterError):
    """Too few workers are left to go on."""


class StepTimeoutError(TimeoutError, ClusterError):
    """A wait inside a training session took longer than its limit."""

    __str__ = DaskdlError.__str__


class BusClosedError(ClusterError):
    """The topic, or the bus below it, was closed."""


class DeviceError(DaskdlError, RuntimeError):
    """A device was asked for that is not there."""


class DivergedError(DaskdlError, ArithmeticError):
    """Training gave a score that is no number: the steps are too large."""


class NetworkBusyError(DaskdlError, RuntimeError):
    """Another thread is training the network: wait for it, or train a clone."""


class StaleMessageError(DaskdlError, ValueError):
    """A message belongs to another session or an older round."""


class DamagedMessageError(StaleMessageError, DataError):
    """A message is not as it was sent: cut short, or bits of it changed."""


class DialectWarning(UserWarning):
    """A file was written whose reader computes otherwise than the network does."""

"""The error of a store that does not let a result directory be made."""

from daskdl.data.retries import in_words, is_full, is_lasting
from daskdl.errors import DaskdlError, OptionError, OutputError

__all__ = ["output_error"]


def output_error(what: str, url: str, error: BaseException) -> DaskdlError:
    """Return the error to raise: of the option if another place is needed.

    Parameters
    ----------
    what : str
        Command and option.
    url : str
        The directory.
    error : OSError or FSTimeoutError
        What the store said.

    Returns
    -------
    OptionError or OutputError
        The latter for a store that is full or does not answer, which the command line
        is not to blame for.
    """
    is_refusal = is_lasting(error) and not is_full(error)
    kind = OptionError if is_refusal else OutputError
    return kind(
        f"{what} must be a directory that can be made and written, got {url} "
        f"({in_words(error)})."
    )

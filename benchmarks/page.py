"""The table in a page of the documentation, between two comments."""

from collections.abc import Iterable

BEGIN = "<!-- table -->"
END = "<!-- end of table -->"


def with_table(page: str, lines: Iterable[str]) -> str:
    """Return a page with what stands between the comments replaced.

    Parameters
    ----------
    page : str
        With :data:`BEGIN` and, below, :data:`END`.
    lines : iterable of str
        The new table.

    Raises
    ------
    ValueError
        If the page lacks one of the comments.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"with_table: the page must contain {BEGIN} and {END}.")
    table = "\n".join(lines).strip()
    return f"{before}{begin}\n\n{table}\n\n{end}{after}"

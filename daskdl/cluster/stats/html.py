"""The parts of HTML that pages of fits are made of. Whatever is text is escaped."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from daskdl.cluster.stats.style import STYLE

__all__ = ["html_facts", "html_page", "html_section", "html_table"]


def html_page(title: str, body: str, head: str = "") -> str:
    """Return a page that refers to no other file or address.

    Parameters
    ----------
    title : str
        Text.
    body, head : str
        HTML, below the title and beside it.
    """
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"{head}<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n<h1>{escape(title)}</h1>\n{body}</main>\n</body>\n</html>\n"
    )


def html_section(heading: str, body: str) -> str:
    """Return HTML below a heading, a text; without one if it is empty."""
    head = f"<h2>{escape(heading)}</h2>" if heading else ""
    return f"<section>{head}{body}</section>\n"


def html_facts(values: Mapping[str, Any]) -> str:
    """Return names with what is known of each."""
    items = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(str(value))}</dd></div>"
        for name, value in values.items()
    )
    return f'<dl class="facts">{items}</dl>'


def html_table(head: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of texts."""
    top = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll"><table><thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )

"""Rows in messages, with and without a number."""

import pytest

from daskdl.data.row_number import NoRowNumber, is_numbered, row_in_words


@pytest.mark.parametrize(("number", "words"), [(4, "row 4"), (NoRowNumber(), "a row")])
def test_a_row_is_told_in_words(number, words):
    assert row_in_words(number) == words


def test_what_has_no_number_has_none_further_down():
    assert not is_numbered(NoRowNumber() + 3)

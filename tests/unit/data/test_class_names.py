"""Names of classes: whose numbers go together, and whose do not."""

import pytest

from daskdl.data.class_names import agreed_names, check_numbers_of_names
from daskdl.errors import DataError

CATS = ("cat", "dog", "emu")


@pytest.mark.parametrize(
    ("names", "agreed"),
    [
        ([], None),
        ([None, None], None),
        ([None, CATS, CATS], CATS),
        ([CATS[:2], CATS, CATS[:1]], CATS),
        ([(), CATS], CATS),
    ],
)
def test_parts_that_agree_have_the_longest_names(names, agreed):
    named = ((f"part {number}", each) for number, each in enumerate(names))
    assert agreed_names(named) == agreed


def test_parts_that_do_not_agree_are_refused():
    with pytest.raises(DataError, match="b: class 1 must be 'dog', as in a, got 'emu'"):
        agreed_names([("a", CATS), ("b", ("cat", "emu"))])


@pytest.mark.parametrize("names", [CATS, CATS[:2], ("Cat", "Dog", "Emu"), ()])
def test_a_network_may_have_names_of_its_own(names):
    check_numbers_of_names("data", names, CATS)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("dog", "cat", "emu"), "class 'dog' must have the number 1, as in the .* 0"),
        (("__unknown", "cat"), "class 'cat' must have the number 0, as in the .* 1"),
    ],
)
def test_names_that_a_network_has_keep_their_numbers(names, message):
    with pytest.raises(DataError, match=f"data: {message}"):
        check_numbers_of_names("data", names, CATS)

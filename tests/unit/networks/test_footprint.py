"""What is too large for this machine is refused before memory is taken."""

import pytest

from daskdl import Dense, Output
from daskdl.errors import OptionError
from daskdl.nn import memory_footprint
from daskdl.nn.conf.input_type import FeedForward
from tests.unit.networks.small import mlp, sequence


@pytest.mark.parametrize("n_out", [99_999_999_999, 2**62])
def test_a_huge_layer_is_refused_with_its_keys(n_out):
    with pytest.raises(
        OptionError, match=rf"'layer0' \(n_in: 64, n_out: {n_out}\) with .* W \(64, "
    ):
        sequence(FeedForward(size=64), Dense(n_out=n_out), Output(n_out=3))


def test_the_state_of_the_updater_counts(monkeypatch):
    n_bytes = mlp().params.nbytes
    state_bytes = mlp().updater_state.nbytes
    monkeypatch.setattr(
        memory_footprint, "_memory_bytes", lambda: 2 * n_bytes + state_bytes - 1
    )
    assert state_bytes > 0
    with pytest.raises(OptionError, match="updater state must fit in this machine's"):
        mlp()


@pytest.mark.parametrize(
    ("n_bytes", "words"), [(12, "12 bytes"), (3 << 30, "3 GiB"), (1 << 80, "1.049e+06")]
)
def test_sizes_are_put_in_words(n_bytes, words):
    assert memory_footprint._in_words(n_bytes).startswith(words)

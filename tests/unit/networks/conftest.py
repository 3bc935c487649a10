"""What tests of joined parts compare with."""

import pytest

from daskdl.nn import program


@pytest.fixture
def unfused(monkeypatch):
    """Return what makes a network in which every layer works for itself."""

    def make(network):
        with monkeypatch.context() as patch:
            patch.setattr(program, "join_parts", lambda parts, outputs: None)
            return network.clone()

    return make

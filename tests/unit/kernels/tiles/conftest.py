"""Compiled code of made-up programs goes to a folder of its own."""

import pytest

from daskdl.kernels import machine_code
from daskdl.kernels.tiles import native as native_module


@pytest.fixture(scope="module", autouse=True)
def kept(tmp_path_factory):
    """Return the folder that the code of this module's programs is kept in."""
    folder = tmp_path_factory.mktemp("kept")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine_code, "cache_directory", lambda: folder)
        patch.setattr(native_module, "_loaded", {})
        yield folder

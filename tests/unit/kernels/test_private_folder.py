"""Compiled code is run, so nobody else may write where it is kept."""

import os
import warnings

import pytest

from daskdl.kernels import machine_code
from daskdl.kernels.private_folder import fault_of


@pytest.fixture
def private(tmp_path):
    folder = tmp_path / "above" / "code"
    folder.mkdir(mode=0o700, parents=True)
    folder.parent.chmod(0o755)
    return folder


@pytest.fixture
def chosen(tmp_path, monkeypatch):
    """Return the folder that is taken below a named one."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "named"))
    (tmp_path / "named").mkdir(mode=0o755)
    machine_code.cache_directory.cache_clear()
    yield machine_code.cache_directory
    machine_code.cache_directory.cache_clear()


def test_a_folder_of_ours_is_good(private):
    assert fault_of(private) is None


@pytest.mark.parametrize("mode", [0o777, 0o702, 0o1777])
def test_a_folder_that_others_may_write_is_not(private, mode):
    private.chmod(mode)
    assert fault_of(private) == f"others may write {private}"


def test_a_folder_below_one_that_others_may_write_is_not(private):
    private.parent.chmod(0o777)
    assert fault_of(private) == f"others may write {private.parent}"


def test_a_sticky_folder_above_is_good(private):
    private.parent.chmod(0o1777)
    assert fault_of(private) is None


def test_a_folder_of_somebody_else_is_not(private, monkeypatch):
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert fault_of(private) == f"{private} belongs to the user {owner}"


def test_a_link_is_as_good_as_where_it_leads(private, tmp_path):
    private.chmod(0o777)
    (tmp_path / "link").symlink_to(private)
    assert fault_of(tmp_path / "link") == f"others may write {private}"


def test_the_folder_is_made_for_us_alone(chosen, tmp_path):
    folder = chosen()
    assert folder.parent == tmp_path / "named"
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_may_write_is_told_and_not_used(chosen, tmp_path):
    (tmp_path / "named").chmod(0o777)
    with pytest.warns(RuntimeWarning, match="is not used .* others may write .*chmod"):
        folder = chosen()
    assert tmp_path not in folder.parents
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_good_folder_is_used_without_a_word(chosen):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chosen()

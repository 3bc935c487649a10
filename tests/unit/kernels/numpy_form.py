"""Kernels as they are documented: what NumPy computes in place of compiled code."""

import pytest


def by_numpy(kernel, *arguments, **options):
    """Return what a kernel returns without its compiled form."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DASKDL_BACKEND_PRIORITY_CPU", "numpy")
        return kernel(*arguments, **options)

"""Which kernels OpenBLAS is told to use."""

import pytest

from daskdl.arrays import blas

WIDE = "fpu avx512f avx512dq avx512cd avx512bw avx512vl"


@pytest.fixture
def processor(monkeypatch, tmp_path):
    def pretend(vendor, flags):
        path = tmp_path / "cpuinfo"
        text = f"processor\t: 0\nvendor_id\t: {vendor}\nflags\t\t: {flags}\n\n"
        path.write_text(text * 2)
        monkeypatch.setattr(blas, "_CPU_INFO", path)

    return pretend


@pytest.mark.parametrize(
    ("vendor", "flags", "environ", "expected"),
    [
        ("AuthenticAMD", WIDE, {}, {"OPENBLAS_CORETYPE": "SkylakeX"}),
        ("AuthenticAMD", WIDE, {"OPENBLAS_CORETYPE": "Zen"}, {}),
        ("AuthenticAMD", "fpu avx2", {}, {}),
        ("GenuineIntel", WIDE, {}, {}),
    ],
)
def test_only_what_is_misjudged_is_chosen(processor, vendor, flags, environ, expected):
    processor(vendor, flags)
    assert blas.kernel_choice(environ) == expected


def test_elsewhere_nothing_is_known(monkeypatch, tmp_path):
    monkeypatch.setattr(blas, "_CPU_INFO", tmp_path / "none")
    assert blas.kernel_choice({}) == {}
    assert not blas.has_wide_registers()

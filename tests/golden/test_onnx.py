"""Every model that DL4J saved: as ONNX it gives in another runtime what DL4J gave."""

import numpy as np
import pytest

from daskdl.errors import FormatError
from daskdl.formats.load import load
from daskdl.formats.onnx.model import to_model
from daskdl.formats.onnx.network import not_covered
from tests.golden.case_names import case_files
from tests.golden.networks import arrays

pytest.importorskip("onnx", reason="needs onnx")
runtime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")

RECORDED = {file.removesuffix(".npz") for file in case_files("models", ".npz")}
NAMES = [
    file.removesuffix(".zip").partition("/")[2]
    for file in case_files("models", ".zip")
    if file.removesuffix(".zip") in RECORDED
]
TOLERANCE = 1e-6


def numbered(recorded, name):
    """Return the arrays called name0, name1, ..."""
    found = []
    while (array := recorded.get(f"{name}{len(found)}")) is not None:
        found.append(array)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_outputs_are_those_of_dl4j(golden, name):
    recorded = arrays(golden / "models" / f"{name}.npz", "float.")
    # Masks have no form in ONNX; those with masks were recorded without them too.
    expected = numbered(recorded, "out_nomask") or numbered(recorded, "out")
    if "out0_nomask" in recorded:
        expected = [recorded["out0_nomask"]]
    if not expected:
        # DL4J failed to compute any.
        return
    network = load(str(golden / "models" / f"{name}.zip"))
    if not_covered(network):
        with pytest.raises(FormatError, match="must be of a kind that ONNX covers"):
            to_model(network)
        return
    session = runtime.InferenceSession(
        to_model(network).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    features = [x.astype(np.float32) for x in numbered(recorded, "x")]
    names = [port.name for port in session.get_inputs()]
    outputs = session.run(None, dict(zip(names, features, strict=True)))
    for output, wanted in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(output, wanted, rtol=0, atol=TOLERANCE)

"""The LSTM in CUDA C, run on this machine, against NumPy in float64."""

import numpy as np
import pytest

from daskdl.arrays.workspace import Workspace
from daskdl.kernels.recurrent import gpu, lstm_backward, lstm_forward
from daskdl.kernels.recurrent.trace import take_trace
from daskdl.kernels.recurrent.weights import LstmState, LstmWeights
from daskdl.nn.activations.table import activation_function
from tests.cuda_on_host import KernelNamespace, on_device
from tests.pretend_cupy import plain
from tests.unit.kernels.numpy_form import by_numpy

pytestmark = pytest.mark.usefixtures("cuda_on_host")
PAIR = activation_function("tanh"), activation_function("sigmoid")
SHARED = 227 << 10

# batch, time, n_in, n, and how many blocks may wait for each other.
SIZES = [
    (1, 1, 1, 1, 132),
    (2, 1, 3, 5, 132),
    (1, 5, 3, 2, 132),
    (3, 4, 2, 13, 1),
    (9, 3, 2, 12, 2),
    (20, 3, 2, 12, 2),
    (25, 3, 3, 37, 5),
    (17, 2, 4, 64, 4),
]
dtypes = pytest.mark.parametrize(("dtype", "rtol"), [("f4", 2e-5), ("f8", 1e-12)])
whole_or_not = pytest.mark.parametrize("at_once", [True, False])


class Series:
    """One LSTM's arrays, in float64 for NumPy or as a device takes them."""

    def __init__(self, arrays, place, sizes):
        self.place, self.sizes = place, sizes
        self.x, weight, recurrent, bias, self.grad_out, *rest = map(place, arrays)
        # Behind the columns of the gates there may be others.
        self.weights = LstmWeights(weight, recurrent[:, : 4 * sizes[3]], bias)
        self.state, self.mask = LstmState(*rest[:2]), rest[2]

    def passes(self, namespace, **options):
        """Return all that both passes write."""
        batch, time, n_in, n = self.sizes
        workspace = Workspace(namespace)
        trace = take_trace(
            workspace, "t", self.x.shape, n, self.x.dtype, keeps_preout=False
        )
        out = self.empty(batch, time, n)
        masks_gradient = options.pop("masks_gradient", False)
        given = (self.weights, *PAIR, trace, workspace)
        by_numpy(lstm_forward, self.x, *given, out=out, **options)
        kept = [out, trace.gates, trace.cells, trace.active_cells, trace.hidden]
        found = [plain(array).copy() for array in kept]
        recurrent = self.empty(n, 4 * n + 3)[:, : 4 * n]
        gradients = LstmWeights(self.empty(n_in, 4 * n), recurrent, self.empty(4 * n))
        grad_x = self.empty(batch, time, n_in)
        by_numpy(
            lstm_backward,
            self.grad_out,
            *given,
            gradients=gradients,
            grad_x=grad_x,
            masks_gradient=masks_gradient,
            **options,
        )
        others = [gradients.weight, gradients.recurrent_weight, gradients.bias]
        return [*found, grad_x, *others]

    def empty(self, *shape):
        return self.place(np.full(shape, np.nan))


@pytest.fixture
def check(rng, monkeypatch):
    """Compare both passes of a device with NumPy's."""

    def check(sizes, dtype, rtol, *, at_once=True, back=slice(None), **chosen):
        *sizes, blocks = sizes
        batch, time, n_in, n = sizes
        shapes = [(batch, time, n_in), (n_in, 4 * n), (n, 4 * n + 3), (4 * n,)]
        shapes += [(batch, time, n), (batch, n), (batch, n)]
        arrays = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
        arrays[2] /= np.sqrt(n).astype(dtype)
        arrays.append((rng.random((batch, time)) > 0.3).astype(dtype))
        monkeypatch.setattr(gpu, "_limits", lambda *_: (blocks, SHARED * at_once))
        results = []
        for namespace, place in (
            (np, lambda array: np.array(array, "f8")),
            (KernelNamespace, lambda array: on_device(array.astype(dtype))),
        ):
            series = Series(arrays, place, sizes)
            options = {name: getattr(series, name) for name in chosen.pop("has", ())}
            results.append(series.passes(namespace, **options, **chosen))
            chosen |= {"has": tuple(options)}
        for number, (expected, found) in enumerate(zip(*results, strict=True)):
            atol = rtol * np.abs(expected).max(initial=1)
            text = f"array {number}"
            np.testing.assert_allclose(
                plain(found), expected, rtol=0, atol=atol, err_msg=text
            )

    return check


@dtypes
@whole_or_not
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_both_passes_are_numpys(check, sizes, dtype, rtol, at_once):
    check(sizes, dtype, rtol, at_once=at_once)


@dtypes
@whole_or_not
@pytest.mark.parametrize("sizes", SIZES[1:6:2], ids=str)
def test_they_go_on_from_a_state(check, sizes, dtype, rtol, at_once):
    check(sizes, dtype, rtol, at_once=at_once, has=("state",))


@dtypes
@whole_or_not
@pytest.mark.parametrize("masks_gradient", [True, False])
def test_a_mask_drops_steps(check, dtype, rtol, at_once, masks_gradient):
    options = {"has": ("mask", "state"), "masks_gradient": masks_gradient}
    check((9, 4, 2, 12, 2), dtype, rtol, at_once=at_once, **options)

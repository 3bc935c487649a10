"""Options of convolutions and capsules where DL4J does what one would not expect.

``tests/data/convolution/recorded.npz`` is what DL4J 1.0.0-M2.1 computed in double
precision: input ``x``, labels ``y``, mask ``fm``, flat vector ``params``, output,
score and summed gradient of each network below.
"""

from pathlib import Path

import numpy as np
import pytest

import daskdl as dl
from daskdl.dl4j.network.parameters import from_dl4j, to_dl4j
from daskdl.nn.conf.input_type import Convolutional, Convolutional3D, Recurrent
from tests.dialects import DL4J

PATH = Path(__file__).parents[2] / "data" / "convolution" / "recorded.npz"
SERIES = Recurrent(size=3, time_steps=8)
SHORT_SERIES = Recurrent(size=3, time_steps=6)
IMAGES = Convolutional(height=6, width=7, channels=2)
SMALL_IMAGES = Convolutional(height=5, width=6, channels=2)
VOLUMES = Convolutional3D(depth=4, height=5, width=4, channels=2)


def network(input_type, *layers, **options):
    conf = dl.MultiLayerConfiguration(
        input=input_type,
        layers=layers,
        activation="tanh",
        dtype="float64",
        dialect=DL4J,
        **options,
    )
    return dl.MultiLayerNetwork(conf)


def pooled(layer, input_type):
    return network(
        input_type,
        layer,
        dl.GlobalPooling(pooling_type="avg"),
        dl.Output(n_out=3, activation="softmax"),
    )


def conv1d(**options):
    return pooled(dl.Convolution1D(n_out=4, **options), SERIES)


def local2d(**options):
    return pooled(dl.LocallyConnected2D(n_out=3, **options), SMALL_IMAGES)


def routed(*layers, **options):
    loss = dl.LossLayer(loss="mse", activation="identity")
    return network(IMAGES, *layers, dl.CapsuleStrength(), loss, **options)


RECORDED = {
    "c1d_same_stride_mask": lambda: conv1d(
        kernel_size=3, stride=2, convolution_mode="same"
    ),
    "c1d_causal_stride_mask": lambda: conv1d(
        kernel_size=3, stride=2, convolution_mode="causal"
    ),
    "c1d_softmax": lambda: conv1d(kernel_size=2, activation="softmax"),
    "c2d_softmax": lambda: pooled(
        dl.Convolution2D(n_out=3, kernel_size=2, activation="softmax"), IMAGES
    ),
    "lc2d_dil": lambda: local2d(dilation=2, convolution_mode="truncate"),
    "lc2d_dil_same": lambda: local2d(dilation=(2, 1)),
    "lc2d_leaky": lambda: local2d(
        kernel_size=(2, 3), activation="leakyrelu", convolution_mode="truncate"
    ),
    "lc1d_same_dil": lambda: pooled(
        dl.LocallyConnected1D(n_out=4, dilation=2), SHORT_SERIES
    ),
    "dc2d_same_s3k1": lambda: pooled(
        dl.Deconvolution2D(n_out=3, kernel_size=1, stride=3, convolution_mode="same"),
        IMAGES,
    ),
    "dc3d_same": lambda: pooled(
        dl.Deconvolution3D(
            n_out=3, kernel_size=(3, 2, 2), stride=(2, 1, 2), convolution_mode="same"
        ),
        VOLUMES,
    ),
    "dw_dil": lambda: pooled(
        dl.DepthwiseConvolution2D(
            depth_multiplier=3,
            kernel_size=(2, 3),
            stride=(2, 1),
            padding=1,
            has_bias=False,
        ),
        IMAGES,
    ),
    "sep_dil": lambda: pooled(
        dl.SeparableConvolution2D(
            n_out=3,
            depth_multiplier=3,
            kernel_size=2,
            padding=(1, 0),
            dilation=2,
            has_bias=False,
        ),
        IMAGES,
    ),
    "caps_bias": lambda: routed(
        dl.PrimaryCapsules(
            capsule_dimensions=3,
            channels=4,
            kernel_size=3,
            convolution_mode="same",
            use_relu=True,
            leak=0.2,
            has_bias=False,
        ),
        dl.Capsule(capsules=3, capsule_dimensions=4, has_bias=True),
    ),
    "caps_relu_two": lambda: routed(
        dl.PrimaryCapsules(
            capsule_dimensions=2,
            channels=2,
            kernel_size=3,
            stride=1,
            padding=1,
            dilation=(2, 1),
            use_relu=True,
        ),
        dl.Capsule(capsules=4, capsule_dimensions=5, routings=1),
        dl.Capsule(capsules=3, capsule_dimensions=2, routings=2, has_bias=True),
        l2=0.1,
        l1_bias=0.2,
    ),
}


@pytest.fixture(params=RECORDED)
def recorded(request):
    """Return the network with DL4J's parameters, its minibatch and DL4J's results."""
    with np.load(PATH) as found:
        prefix = f"{request.param}."
        arrays = {
            name.removeprefix(prefix): found[name]
            for name in found.files
            if name.startswith(prefix)
        }
    built = RECORDED[request.param]()
    built.params[...] = from_dl4j(built, arrays["params"])
    return built, dl.DataSet(arrays["x"], arrays["y"], arrays.get("fm")), arrays


def test_the_output_is_dl4js(recorded):
    built, batch, arrays = recorded
    output = built.output(batch.features, features_mask=batch.features_mask)
    np.testing.assert_allclose(output, arrays["out"], rtol=0, atol=1e-13)


def test_score_and_gradient_are_dl4js(recorded):
    built, batch, arrays = recorded
    score = built.compute_gradients(batch)
    gradient = to_dl4j(built, built.gradients) * batch.num_examples
    largest = np.abs(arrays["grad"]).max()
    np.testing.assert_allclose(gradient, arrays["grad"], rtol=0, atol=1e-12 * largest)
    np.testing.assert_allclose(score, arrays["score"], rtol=1e-12)

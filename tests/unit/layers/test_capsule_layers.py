"""Layers of capsules: options, sizes and first weights."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.errors import OptionError
from daskdl.nn.conf.defaults import NetworkConf
from daskdl.nn.conf.input_type import Convolutional, FeedForward, Recurrent
from tests.dialects import in_dl4j
from tests.unit.layers.drawn import built, run

IMAGES = Convolutional(height=6, width=5, channels=2)
ANY_IMAGES = Convolutional(channels=2)
ANY_SERIES = Recurrent(size=3)
CAPSULES = Recurrent(size=4, time_steps=3)


class TestCapsules:
    def test_capsules_are_features_and_their_numbers_are_time_steps(self):
        conf = dl.PrimaryCapsules(
            capsule_dimensions=4, channels=3, kernel_size=3, stride=1
        )
        assert conf.output_type(IMAGES) == Recurrent(size=36, time_steps=4)

    def lengths(self, conf):
        """Return the lengths of capsules of two channels: (3, 4, 0, 1), and zeros."""
        layer = built(conf, Convolutional(height=1, width=4, channels=1))
        layer.run.params["weight"][...] = [1, 0]
        capsules = run(layer, np.array([3, 4, 0, 1.0]).reshape(1, 1, 4, 1))
        return np.sqrt((capsules[0] ** 2).sum(axis=0))

    PAIRS = dl.PrimaryCapsules(
        capsule_dimensions=2, channels=1, kernel_size=1, stride=1, has_bias=False
    )

    def test_the_numbers_of_a_capsule_are_channels_of_one_place(self):
        found = self.lengths(self.PAIRS)
        np.testing.assert_allclose(found, [9 / 10, 16 / 17, 0, 1 / 2], rtol=1e-5)

    def test_the_numbers_of_a_capsule_are_neighbours_in_a_row_in_dl4j(self):
        found = self.lengths(in_dl4j(self.PAIRS))
        np.testing.assert_allclose(found, [25 / 26, 1 / 2, 0, 0], rtol=1e-5)

    def test_the_number_of_capsules_can_stand_for_the_size_of_the_images(self):
        conf = dl.PrimaryCapsules(capsule_dimensions=4, capsules=36)
        assert conf.output_type(ANY_IMAGES) == Recurrent(size=36, time_steps=4)

    def test_the_number_of_capsules_is_filled_in(self):
        conf = dl.PrimaryCapsules(capsule_dimensions=4, channels=3, kernel_size=3)
        assert conf.filled(NetworkConf().defaults(), IMAGES, "me").capsules == 12

    @pytest.mark.parametrize(("capsules", "images"), [(None, ANY_IMAGES), (35, IMAGES)])
    def test_a_number_of_capsules_that_cannot_be_is_refused(self, capsules, images):
        conf = dl.PrimaryCapsules(
            capsule_dimensions=4, channels=3, kernel_size=3, capsules=capsules
        )
        with pytest.raises(OptionError, match="capsules: must be what images of"):
            conf.output_type(images)

    def test_capsules_need_capsules(self):
        conf = dl.Capsule(capsules=3, capsule_dimensions=2)
        with pytest.raises(OptionError, match="Capsule needs capsules"):
            conf.output_type(ANY_SERIES)

    def test_the_strength_of_capsules_needs_capsules(self):
        with pytest.raises(OptionError, match="CapsuleStrength needs capsules"):
            dl.CapsuleStrength().output_type(FeedForward(size=3))

    def test_strength_is_the_length(self, rng):
        x = rng.standard_normal((2, 3, 4))
        output = run(built(dl.CapsuleStrength(), CAPSULES), x)
        np.testing.assert_allclose(output, np.linalg.norm(x, axis=1))

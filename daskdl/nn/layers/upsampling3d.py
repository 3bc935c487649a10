"""The layer that repeats voxels."""

from typing import Literal

from daskdl.nn.conf.values import CountTriple
from daskdl.nn.layers.resizing import UpsamplingConf, UpsamplingLayer


class Upsampling3D(UpsamplingConf):
    """Repeat the voxels of volumes.

    Parameters
    ----------
    size : (int, int, int) or int
        How often each voxel along depth, height and width; one number means all
        three.
    """

    type: Literal["upsampling3d"] = "upsampling3d"
    size: CountTriple = (2, 2, 2)


class Upsampling3DLayer(UpsamplingLayer[Upsampling3D]):
    """Each of the voxels several times."""

"""What lies on the images of a joined convolution and pooling."""

from dataclasses import dataclass

from daskdl.kernels.window import Window


@dataclass(frozen=True)
class PooledWindows:
    """The windows of a convolution, and those that pool its output.

    Parameters
    ----------
    window : Window
        Of the convolution.
    pool : Window
        Slides over the output of `window`, without padding, dilation and overlap.
    rectifies : bool
        Whether outputs below 0 count as 0.
    """

    window: Window
    pool: Window
    rectifies: bool

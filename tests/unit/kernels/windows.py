"""One table of windows for everything that slides."""

from daskdl.kernels.window import Window, window_axis

# height, width, kernel, stride, padding, dilation, mode
WINDOWS = {
    "plain": (5, 6, (3, 2), (1, 1), (0, 0), (1, 1), "truncate"),
    "one cell": (4, 4, (1, 1), (1, 1), (0, 0), (1, 1), "truncate"),
    "stride": (7, 6, (3, 2), (2, 3), (0, 0), (1, 1), "truncate"),
    "cut off": (6, 7, (2, 3), (3, 2), (0, 0), (1, 1), "truncate"),
    "gaps": (7, 7, (2, 1), (3, 3), (0, 0), (1, 1), "truncate"),
    "padding": (5, 4, (3, 3), (1, 2), (1, 2), (1, 1), "truncate"),
    "padding cut off": (6, 6, (3, 3), (2, 2), (1, 1), (1, 1), "truncate"),
    "dilation": (7, 8, (3, 2), (1, 1), (0, 0), (2, 3), "truncate"),
    "dilation, padding, stride": (7, 6, (2, 3), (2, 1), (1, 2), (3, 2), "truncate"),
    "same": (5, 6, (3, 2), (1, 1), (0, 0), (1, 1), "same"),
    "same, stride": (7, 6, (3, 4), (2, 3), (0, 0), (1, 1), "same"),
    "same, stride over kernel": (7, 8, (1, 2), (3, 3), (0, 0), (1, 1), "same"),
    "same, dilation": (6, 5, (3, 2), (1, 2), (0, 0), (2, 2), "same"),
    "strict": (7, 5, (3, 3), (2, 1), (0, 0), (1, 1), "strict"),
    "whole image": (4, 3, (4, 3), (1, 1), (0, 0), (1, 1), "truncate"),
}
# Sizes, kernel, stride, padding, dilation, mode: of series and of volumes.
OTHER_AXES = {
    "series": ((7,), (3,), (2,), (1,), (1,), "truncate"),
    "series, same, dilation": ((6,), (3,), (1,), (0,), (2,), "same"),
    "volumes": ((3, 4, 3), (2, 2, 2), (1, 2, 1), (0, 1, 0), (1, 1, 1), "truncate"),
    "volumes, same": ((3, 4, 2), (2, 3, 2), (2, 1, 1), (0, 0, 0), (1, 1, 1), "same"),
}


def make_window(name: str) -> Window:
    if name in OTHER_AXES:
        sizes, kernel, stride, padding, dilation, mode = OTHER_AXES[name]
    else:
        *sizes, kernel, stride, padding, dilation, mode = WINDOWS[name]
    return Window(
        *(
            window_axis(size, kernel[k], stride[k], padding[k], dilation[k], mode)
            for k, size in enumerate(sizes)
        )
    )

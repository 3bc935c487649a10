"""CUDA C of pooling. Windows over fewer axes have leading ones of one cell."""

WINDOWS = r"""
struct Axis { int size, kernel, stride, dilation, before, out; };
#define AXIS_ARGUMENTS(a) \
    int size_##a, int kernel_##a, int stride_##a, int dilation_##a, int before_##a, \
    int out_##a
#define AXES_ARGUMENTS AXIS_ARGUMENTS(0), AXIS_ARGUMENTS(1), AXIS_ARGUMENTS(2)
#define AXIS_PLACE(a) \
    const Axis axis_##a = {size_##a, kernel_##a, stride_##a, dilation_##a, \
                           before_##a, out_##a};
// What a thread loads together, so that many bytes are on their way.
#define AT_ONCE 4
#define EACH_CHANNEL \
    for (int channel = lane; channel < channels; channel += lanes * AT_ONCE)
#define EACH \
    _Pragma("unroll") for (int j = 0; j < AT_ONCE; ++j) \
        if (channel + j * lanes < channels)
// A thread has one place, a window or a cell of the input, and every so many channels.
#define PLACE(count) \
    const int lane = threadIdx.x % lanes; \
    const long long number = \
        (long long)blockIdx.x * (blockDim.x / lanes) + threadIdx.x / lanes; \
    if (number >= places) return; \
    AXIS_PLACE(0) AXIS_PLACE(1) AXIS_PLACE(2) \
    const int place = (int)number; \
    const int at_2 = place % axis_2.count, rest_2 = place / axis_2.count; \
    const int at_1 = rest_2 % axis_1.count, rest_1 = rest_2 / axis_1.count; \
    const int at_0 = rest_1 % axis_0.count, image = rest_1 / axis_0.count;

// The cells of a window inside the input, from one to before another.
struct Cells { int start, from, to; };
__device__ Cells cells_of(Axis axis, int window) {
    Cells cells;
    cells.start = window * axis.stride - axis.before;
    cells.from = 0;
    if (cells.start < 0)
        cells.from = (axis.dilation - 1 - cells.start) / axis.dilation;
    const int room = axis.size - cells.start;
    const int to = room > 0 ? (room - 1) / axis.dilation + 1 : 0;
    cells.to = to < axis.kernel ? to : axis.kernel;
    if (cells.to < cells.from) cells.to = cells.from;
    return cells;
}

// The windows that reach a cell of the input, from the last one to the first.
struct Over { int padded, last, first; };
__device__ Over windows_over(Axis axis, int cell) {
    Over over;
    over.padded = cell + axis.before;
    const int last = over.padded / axis.stride;
    over.last = last < axis.out ? last : axis.out - 1;
    const int reach = over.padded - (axis.kernel - 1) * axis.dilation;
    over.first = reach > 0 ? (reach + axis.stride - 1) / axis.stride : 0;
    return over;
}
// Which cell of a window that is, or -1 where the window steps over it.
__device__ int cell_in(Axis axis, Over over, int window) {
    const int step = over.padded - window * axis.stride;
    if (axis.dilation == 1) return step;
    return step % axis.dilation ? -1 : step / axis.dilation;
}
"""

MAX_FORWARD = r"""
extern "C" __global__ void max_pool_forward(
    const real* __restrict__ x, int places, int channels, int lanes, AXES_ARGUMENTS,
    int rectifies, mark* __restrict__ winner, real* __restrict__ out
) {
    PLACE(out)
    const Cells c0 = cells_of(axis_0, at_0), c1 = cells_of(axis_1, at_1);
    const Cells c2 = cells_of(axis_2, at_2);
    EACH_CHANNEL {
        real best[AT_ONCE];
        int won[AT_ONCE];
        for (int j = 0; j < AT_ONCE; ++j) { best[j] = -INFINITE; won[j] = 0; }
        for (int k0 = c0.from; k0 < c0.to; ++k0)
        for (int k1 = c1.from; k1 < c1.to; ++k1) {
            const int at0 = c0.start + k0 * axis_0.dilation;
            const int at1 = c1.start + k1 * axis_1.dilation;
            const int line = ((image * axis_0.size + at0) * axis_1.size + at1)
                             * axis_2.size + c2.start;
            const int cell = (k0 * axis_1.kernel + k1) * axis_2.kernel;
            for (int k2 = c2.from; k2 < c2.to; ++k2) {
                const long long position = line + k2 * axis_2.dilation;
                const real* here = x + position * channels + channel;
                real values[AT_ONCE];
                EACH values[j] = here[j * lanes];
                EACH {
                    // The first of equals; NaN is larger than all, and wins nothing.
                    const real value = values[j];
                    if (value > best[j]) won[j] = cell + k2;
                    best[j] = value > best[j] || value != value ? value : best[j];
                }
            }
        }
        const long long at = (long long)place * channels + channel;
        EACH {
            out[at + j * lanes] = rectifies && best[j] < 0 ? (real)0 : best[j];
            winner[at + j * lanes] = (mark)won[j];
        }
    }
}
""".replace("INFINITE", "(real)__int_as_float(0x7f800000)")

MAX_BACKWARD = r"""
extern "C" __global__ void max_pool_backward(
    const real* __restrict__ grad_out, int places, int channels, int lanes,
    AXES_ARGUMENTS, const real* __restrict__ rectified,
    const mark* __restrict__ winner, real* __restrict__ grad_x
) {
    PLACE(size)
    const Over o0 = windows_over(axis_0, at_0), o1 = windows_over(axis_1, at_1);
    const Over o2 = windows_over(axis_2, at_2);
    EACH_CHANNEL {
        real sum[AT_ONCE] = {0};
        for (int w0 = o0.last; w0 >= o0.first; --w0)
        for (int w1 = o1.last; w1 >= o1.first; --w1) {
            const int k0 = cell_in(axis_0, o0, w0), k1 = cell_in(axis_1, o1, w1);
            if (k0 < 0 || k1 < 0) continue;
            const int line =
                ((image * axis_0.out + w0) * axis_1.out + w1) * axis_2.out;
            const int cells = (k0 * axis_1.kernel + k1) * axis_2.kernel;
            for (int w2 = o2.last; w2 >= o2.first; --w2) {
                const int k2 = cell_in(axis_2, o2, w2);
                if (k2 < 0) continue;
                const long long at = (long long)(line + w2) * channels + channel;
                real grads[AT_ONCE];
                mark winners[AT_ONCE];
                EACH {
                    grads[j] = grad_out[at + j * lanes];
                    winners[j] = winner[at + j * lanes];
                }
                // Products, so that what is infinite or NaN stays to be seen.
                if (rectified)
                    EACH grads[j] *= rectified[at + j * lanes] > 0 ? (real)1 : (real)0;
                EACH sum[j] +=
                    grads[j] * (winners[j] == (mark)(cells + k2) ? (real)1 : (real)0);
            }
        }
        const long long to = (long long)place * channels + channel;
        EACH grad_x[to + j * lanes] = sum[j];
    }
}
"""

# Divided by 1, by the cells of the kernel, or by those of them inside the input.
MEAN_FORWARD = r"""
extern "C" __global__ void mean_pool_forward(
    const real* __restrict__ x, int places, int channels, int lanes, AXES_ARGUMENTS,
    int divided, real* __restrict__ out
) {
    PLACE(out)
    const Cells c0 = cells_of(axis_0, at_0), c1 = cells_of(axis_1, at_1);
    const Cells c2 = cells_of(axis_2, at_2);
    int cells = 1;
    if (divided == 1) cells = axis_0.kernel * axis_1.kernel * axis_2.kernel;
    if (divided == 2) cells = (c0.to - c0.from) * (c1.to - c1.from) * (c2.to - c2.from);
    const real divisor = cells > 1 ? cells : 1;
    EACH_CHANNEL {
        real sum[AT_ONCE] = {0};
        for (int k0 = c0.from; k0 < c0.to; ++k0)
        for (int k1 = c1.from; k1 < c1.to; ++k1) {
            const int at0 = c0.start + k0 * axis_0.dilation;
            const int at1 = c1.start + k1 * axis_1.dilation;
            const int line = ((image * axis_0.size + at0) * axis_1.size + at1)
                             * axis_2.size + c2.start;
            for (int k2 = c2.from; k2 < c2.to; ++k2) {
                const long long position = line + k2 * axis_2.dilation;
                const real* here = x + position * channels + channel;
                EACH sum[j] += here[j * lanes];
            }
        }
        const long long to = (long long)place * channels + channel;
        EACH out[to + j * lanes] = sum[j] / divisor;
    }
}
"""

MEAN_BACKWARD = r"""
extern "C" __global__ void mean_pool_backward(
    const real* __restrict__ grad_out, int places, int channels, int lanes,
    AXES_ARGUMENTS, int divided, real* __restrict__ grad_x
) {
    PLACE(size)
    const Over o0 = windows_over(axis_0, at_0), o1 = windows_over(axis_1, at_1);
    const Over o2 = windows_over(axis_2, at_2);
    const int all =
        divided == 1 ? axis_0.kernel * axis_1.kernel * axis_2.kernel : 1;
    EACH_CHANNEL {
        real sum[AT_ONCE] = {0};
        for (int w0 = o0.last; w0 >= o0.first; --w0)
        for (int w1 = o1.last; w1 >= o1.first; --w1) {
            if (cell_in(axis_0, o0, w0) < 0 || cell_in(axis_1, o1, w1) < 0) continue;
            const int line =
                ((image * axis_0.out + w0) * axis_1.out + w1) * axis_2.out;
            const Cells c0 = cells_of(axis_0, w0), c1 = cells_of(axis_1, w1);
            const int inside = (c0.to - c0.from) * (c1.to - c1.from);
            for (int w2 = o2.last; w2 >= o2.first; --w2) {
                if (cell_in(axis_2, o2, w2) < 0) continue;
                const Cells c2 = cells_of(axis_2, w2);
                const int cells = divided == 2 ? inside * (c2.to - c2.from) : all;
                const long long at = (long long)(line + w2) * channels + channel;
                EACH sum[j] += grad_out[at + j * lanes] / (real)cells;
            }
        }
        const long long to = (long long)place * channels + channel;
        EACH grad_x[to + j * lanes] = sum[j];
    }
}
"""

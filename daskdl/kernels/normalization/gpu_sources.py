"""CUDA C of batch normalization; what they share is of :mod:`..cuda.columns`."""

MOMENTS = r"""
extern "C" __global__ void moments(
    const real* __restrict__ x, GRID_ARGUMENTS, int is_all, real* __restrict__ mean,
    real* __restrict__ variance
) {
    GRID_PLACE
    __shared__ real means[256], squares[256];
    __shared__ int counts[256];
    // Relative to some number of the column, a mean far from 0 costs no digits.
    const real shift = has_column ? x[column] : (real)0;
    int count = 0;
    real middle = 0, square = 0;
    for (int row = from + level; row < to; row += levels * AT_ONCE) {
        real values[AT_ONCE], sum = 0, here = 0;
        const int left = (to - row + levels - 1) / levels;
        const int n = left < AT_ONCE ? left : AT_ONCE;
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            const int at = row + k * levels;
            values[k] = k < n ? x[(long long)at * columns + column] - shift : (real)0;
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) sum += values[k];
        const real of_these = sum / n;
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            const real d = k < n ? values[k] - of_these : (real)0;
            here += d * d;
        }
        const real delta = of_these - middle, share = (real)n / (real)(count + n);
        middle += delta * share;
        square += here + delta * delta * ((real)count * share);
        count += n;
    }
    const int me = threadIdx.x;
    means[me] = middle;
    squares[me] = square;
    counts[me] = count;
    for (int half = blockDim.x / 2; half >= lanes; half /= 2) {
        __syncthreads();
        if (me < half && counts[me + half] > 0) {
            const int n = counts[me + half], before = counts[me];
            const real delta = means[me + half] - means[me];
            const real share = (real)n / (real)(before + n);
            means[me] += delta * share;
            squares[me] += squares[me + half] + delta * delta * ((real)before * share);
            counts[me] = before + n;
        }
    }
    if (level == 0 && has_column) {
        const long long at = (long long)slab * columns + column;
        mean[at] = is_all ? shift + means[me] : means[me];
        variance[at] = is_all ? squares[me] / rows : squares[me];
    }
}
"""

# Rows are here the slabs of x.
JOIN_MOMENTS = r"""
extern "C" __global__ void join_moments(
    const real* __restrict__ x, GRID_ARGUMENTS, int rows_of_slab, int rows_of_all,
    const real* __restrict__ means, const real* __restrict__ squares,
    real* __restrict__ mean, real* __restrict__ variance
) {
    GRID_PLACE
    __shared__ double shared[1024];
    double sum = 0, square = 0;
    for (int row = from + level; row < to; row += levels) {
        const int n = min(rows_of_slab, rows_of_all - row * rows_of_slab);
        sum += n * (double)means[row * (long long)columns + column];
    }
    const double middle = sum_of_levels(sum, shared, lanes) / rows_of_all;
    for (int row = from + level; row < to; row += levels) {
        const long long at = row * (long long)columns + column;
        const int n = min(rows_of_slab, rows_of_all - row * rows_of_slab);
        const double d = means[at] - middle;
        square += squares[at] + n * d * d;
    }
    square = sum_of_levels(square, shared, lanes);
    if (level == 0 && has_column) {
        mean[column] = (real)(x[column] + middle);
        variance[column] = (real)(square / rows_of_all);
    }
}
"""

SCALE = r"""
#define SCALE_ARGUMENTS \
    const real* __restrict__ mean, const real* __restrict__ variance, \
    const real* __restrict__ gamma, real gamma_of_all, \
    const real* __restrict__ beta, real beta_of_all, real eps
#define SCALE_PLACE \
    const real middle = has_column ? mean[column] : (real)0; \
    const real deviation = has_column ? sqrt(variance[column] + eps) : (real)1; \
    const real slope = \
        (gamma && has_column ? gamma[column] : gamma_of_all) / deviation; \
    const real moved = beta && has_column ? beta[column] : beta_of_all;
// Of one rounding in whatever kernel: forward and backward must see the same sign.
#define SCALED(d) fma((real)(d), slope, moved)
"""

NORMALIZE = r"""
extern "C" __global__ void normalize(
    const real* x, GRID_ARGUMENTS, SCALE_ARGUMENTS, int rectifies, real* out
) {
    GRID_PLACE
    SCALE_PLACE
    for (int row = from + level; row < to; row += levels * AT_ONCE) {
        real values[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            const int at = row + k * levels;
            values[k] = at < to ? x[(long long)at * columns + column] : (real)0;
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            const int at = row + k * levels;
            const real value = SCALED(values[k] - middle);
            // NaN is not below 0.
            if (at < to)
                out[(long long)at * columns + column] =
                    rectifies && value < 0 ? (real)0 : value;
        }
    }
}
"""

GRADIENT_SUMS = r"""
extern "C" __global__ void gradient_sums(
    const real* __restrict__ grad, const real* __restrict__ x, GRID_ARGUMENTS,
    SCALE_ARGUMENTS, int rectified, int is_all, real* __restrict__ grad_gamma,
    real* __restrict__ grad_beta
) {
    GRID_PLACE
    SCALE_PLACE
    __shared__ real shared[256];
    real along = 0, total = 0;
    for (int row = from + level; row < to; row += levels * AT_ONCE) {
        real values[AT_ONCE], grads[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            const int at = row + k * levels;
            const long long place = (long long)at * columns + column;
            values[k] = at < to ? x[place] - middle : (real)0;
            grads[k] = at < to ? grad[place] : (real)0;
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            const real passes = !rectified || SCALED(values[k]) > 0 ? 1 : 0;
            const real share = grads[k] * passes;
            total += share;
            along += share * values[k];
        }
    }
    along = sum_of_levels(along, shared, lanes);
    total = sum_of_levels(total, shared, lanes);
    if (level == 0 && has_column) {
        const long long at = (long long)slab * columns + column;
        grad_gamma[at] = is_all ? along / deviation : along;
        grad_beta[at] = total;
    }
}
"""

# Rows are here the slabs of x.
JOIN_GRADIENT_SUMS = r"""
extern "C" __global__ void join_gradient_sums(
    const real* __restrict__ alongs, const real* __restrict__ totals, GRID_ARGUMENTS,
    const real* __restrict__ variance, real eps, real* __restrict__ grad_gamma,
    real* __restrict__ grad_beta
) {
    GRID_PLACE
    __shared__ double shared[1024];
    double along = 0, total = 0;
    for (int row = from + level; row < to; row += levels) {
        along += alongs[row * (long long)columns + column];
        total += totals[row * (long long)columns + column];
    }
    along = sum_of_levels(along, shared, lanes);
    total = sum_of_levels(total, shared, lanes);
    if (level == 0 && has_column) {
        grad_gamma[column] = (real)(along / sqrt(variance[column] + eps));
        grad_beta[column] = (real)total;
    }
}
"""

SPREAD = r"""
extern "C" __global__ void spread_gradient(
    const real* grad, const real* x, GRID_ARGUMENTS, SCALE_ARGUMENTS, int rectified,
    int is_inference, const real* __restrict__ grad_gamma,
    const real* __restrict__ grad_beta, real* grad_x
) {
    GRID_PLACE
    SCALE_PLACE
    const bool counts = has_column && !is_inference;
    const real along = counts ? grad_gamma[column] / (rows * deviation) : (real)0;
    const real total = counts ? grad_beta[column] / rows : (real)0;
    for (int row = from + level; row < to; row += levels * AT_ONCE) {
        real values[AT_ONCE], grads[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            const int at = row + k * levels;
            const long long place = (long long)at * columns + column;
            values[k] = at < to && (counts || rectified) ? x[place] - middle : (real)0;
            grads[k] = at < to ? grad[place] : (real)0;
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            const int at = row + k * levels;
            const real passes = !rectified || SCALED(values[k]) > 0 ? 1 : 0;
            const real share = grads[k] * passes;
            if (at < to)
                grad_x[(long long)at * columns + column] =
                    (share - total - values[k] * along) * slope;
        }
    }
}
"""

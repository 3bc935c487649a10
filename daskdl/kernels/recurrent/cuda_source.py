"""The LSTM pair in CUDA C: all time steps of a layer by one launch.

A block owns some hidden units, in forward all four columns of each, and keeps their
recurrent weights in its registers from the first step to the last. It does so for a
part of the minibatch, in chunks of eight examples. The blocks of a part wait for each
other once a step: what a step reads of the step before is written by all of them. So
they must all run at the same time, which a cooperative launch sees to.

A warp is a number of an example, its 32 lanes are 4 gates by 8 units. For the product
with the step before the same threads share out what is summed up over: by warps in
forward, by warps and gates in backward. Where a product is made elsewhere, ``GROUPS``
is 0, and a launch makes one step.

It is to be defined: ``GROUPS``, groups of four numbers that a thread sums up over;
``COLUMNS``, units of a thread; and ``VECTORS``, whether four numbers are read at once.
"""

COMMON = r"""
#define EXAMPLES 8
#define UNITS 8
#define THREADS 256
#define HELD (GROUPS ? 4 * GROUPS : 1)
#define EVERY 0xffffffffu

struct __align__(16) four { real a, b, c, d; };

__device__ four four_at(const float *p)
{
    float4 v = __ldcg((const float4 *)p);
    return {(real)v.x, (real)v.y, (real)v.z, (real)v.w};
}

__device__ four four_at(const double *p)
{
    double2 v = __ldcg((const double2 *)p), w = __ldcg((const double2 *)p + 1);
    return {(real)v.x, (real)v.y, (real)w.x, (real)w.y};
}

__device__ real sigmoid(real z) { return 1 / (1 + exp(-z)); }

// Let the blocks that wait see what all threads of this one have written.
__device__ void announce(unsigned *counter)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(counter, 1u);
    }
}

__device__ void await(unsigned *counter, unsigned wanted)
{
    if (threadIdx.x == 0) {
        while (*(volatile unsigned *)counter < wanted) __nanosleep(0);
        __threadfence();
    }
    __syncthreads();
}

// Read rows of eight examples, filled up by zeros. Never from a cache of this
// multiprocessor, which does not see what others write.
template <int SLICES>
__device__ void read_rows(four *rows, const real *from, int first, int batch, int width)
{
    const int row = GROUPS ? GROUPS * SLICES : 1, all = EXAMPLES * row, most = 8;
#pragma unroll
    for (int start = 0; start < all; start += most * THREADS) {
        four held[most];
#pragma unroll
        for (int i = 0; i < most; i++) {
            int at = start + i * THREADS + threadIdx.x;
            int example = first + at / row, k = at % row * 4;
            four now = {0, 0, 0, 0};
            if (start + i * THREADS < all && at < all && example < batch && k < width) {
                const real *p = from + (long long)example * width + k;
                if (VECTORS)
                    now = four_at(p);
                else {
                    now.a = __ldcg(p);
                    if (k + 1 < width) now.b = __ldcg(p + 1);
                    if (k + 2 < width) now.c = __ldcg(p + 2);
                    if (k + 3 < width) now.d = __ldcg(p + 3);
                }
            }
            held[i] = now;
        }
#pragma unroll
        for (int i = 0; i < most; i++) {
            int at = start + i * THREADS + threadIdx.x;
            if (start + i * THREADS < all && at < all) rows[at] = held[i];
        }
    }
}

// Each thread multiplies its slice of all eight rows by its weights.
template <int SLICES>
__device__ void multiply(
    real *sums, const four *rows, const real (&weights)[COLUMNS][HELD], int slice)
{
    real total[COLUMNS][EXAMPLES] = {};
#pragma unroll
    for (int j = 0; j < GROUPS; j++)
#pragma unroll
        for (int b = 0; b < EXAMPLES; b++) {
            four v = rows[b * (GROUPS * SLICES) + j * SLICES + slice];
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) {
                total[c][b] += v.a * weights[c][4 * j];
                total[c][b] += v.b * weights[c][4 * j + 1];
                total[c][b] += v.c * weights[c][4 * j + 2];
                total[c][b] += v.d * weights[c][4 * j + 3];
            }
        }
#pragma unroll
    for (int c = 0; c < COLUMNS; c++)
#pragma unroll
        for (int b = 0; b < EXAMPLES; b++)
            sums[(c * EXAMPLES + b) * THREADS + threadIdx.x] = total[c][b];
}

// Of the example that is this warp's.
__device__ real summed(const real *sums, int c)
{
    real total = 0;
#pragma unroll
    for (int i = 0; i < 8; i++)
        total += sums[
            (c * EXAMPLES + threadIdx.x / 32) * THREADS + i * 32 + threadIdx.x % 32];
    return total;
}
"""

FORWARD = r"""
extern "C" __global__ void __launch_bounds__(THREADS, 1) lstm_forward(
    real *gates, const real *bias, const real *recurrent, int recurrent_step,
    const real *hidden_before, const real *cell_before,
    real *cells, real *active_cells, real *hidden,
    real *out, int out_example, int out_time,
    const real *mask, int mask_example, int mask_time,
    unsigned *counters, int n_steps, int batch, int n, int slices, int parts)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    four *rows = (four *)shared_memory;
    real *sums = (real *)(rows + EXAMPLES * GROUPS * 8);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, gate = lane / UNITS;
    const int slice = blockIdx.x % slices, part = blockIdx.x / slices;
    unsigned *counter = counters + 32 * part;
    real weights[COLUMNS][HELD], offset[COLUMNS];
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        int unit = (slice * COLUMNS + c) * UNITS + lane % UNITS;
        offset[c] = unit < n ? bias[gate * n + unit] : 0;
#pragma unroll
        for (int i = 0; i < 4 * GROUPS; i++) {
            int k = (i / 4 * 8 + warp) * 4 + i % 4;
            weights[c][i] = k < n && unit < n
                ? recurrent[(long long)k * recurrent_step + gate * n + unit] : 0;
        }
    }
    for (int t = 0; t < n_steps; t++) {
        const long long now = (long long)t * batch;
        const real *before = t ? hidden + (now - batch) * n : hidden_before;
        const real *old = t ? cells + (now - batch) * n : cell_before;
        if (GROUPS && t) await(counter, slices * t);
        for (int first = part * EXAMPLES; first < batch; first += parts * EXAMPLES) {
            const int example = first + warp;
            const bool is_there = example < batch;
            const real kept = mask && is_there
                ? mask[(long long)example * mask_example + (long long)t * mask_time]
                : 1;
            real z[COLUMNS], cell[COLUMNS];
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) {
                int unit = (slice * COLUMNS + c) * UNITS + lane % UNITS;
                z[c] = cell[c] = 0;
                if (is_there && unit < n) {
                    z[c] = gates[(now + example) * 4 * n + gate * n + unit] + offset[c];
                    if (old) cell[c] = __ldcg(old + (long long)example * n + unit);
                }
            }
            if (GROUPS && before) {
                read_rows<8>(rows, before, first, batch, n);
                __syncthreads();
                multiply<8>(sums, rows, weights, warp);
                __syncthreads();
#pragma unroll
                for (int c = 0; c < COLUMNS; c++) z[c] += summed(sums, c);
            }
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) {
                int in_slice = lane % UNITS;
                int unit = (slice * COLUMNS + c) * UNITS + in_slice;
                real open = gate ? sigmoid(z[c]) : tanh(z[c]);
                real block = __shfl_sync(EVERY, open, in_slice);
                real forget = __shfl_sync(EVERY, open, UNITS + in_slice);
                real output = __shfl_sync(EVERY, open, 2 * UNITS + in_slice);
                real entry = __shfl_sync(EVERY, open, 3 * UNITS + in_slice);
                real made = forget * cell[c] + entry * block, active = tanh(made);
                real result = output * active * kept;
                made *= kept;
                if (!is_there || unit >= n) continue;
                long long at = (now + example) * n + unit;
                if (gate == 0) hidden[at] = result;
                if (gate == 1) cells[at] = made;
                if (gate == 2) active_cells[at] = active;
                if (gate == 3 && out)
                    out[(long long)example * out_example + (long long)t * out_time
                        + unit] = result;
                gates[(now + example) * 4 * n + gate * n + unit] = open;
            }
        }
        if (GROUPS && t + 1 < n_steps) announce(counter);
    }
}
"""

BACKWARD = r"""
extern "C" __global__ void __launch_bounds__(THREADS, 1) lstm_backward(
    real *gates, const real *recurrent, int recurrent_step, const real *behind,
    const real *grad_out, int grad_example, int grad_time,
    const real *cells, const real *cell_before, const real *active_cells,
    real *grad_cell, const real *mask, int mask_example, int mask_time,
    int masks_gradient, real *bias_sums, real *grad_bias,
    unsigned *counters, int n_steps, int batch, int n, int slices, int parts)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    four *rows = (four *)shared_memory;
    real *sums = (real *)(rows + EXAMPLES * GROUPS * 32);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, gate = lane / UNITS;
    const int slice = blockIdx.x % slices, part = blockIdx.x / slices;
    unsigned *counter = counters + 32 * part;
    real weights[COLUMNS][HELD], total[COLUMNS] = {};
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        int unit = (slice * COLUMNS + c) * UNITS + lane % UNITS;
#pragma unroll
        for (int i = 0; i < 4 * GROUPS; i++) {
            int k = (i / 4 * 32 + warp * 4 + gate) * 4 + i % 4;
            weights[c][i] = k < 4 * n && unit < n
                ? recurrent[(long long)unit * recurrent_step + k] : 0;
        }
    }
    for (int done = 0; done < n_steps; done++) {
        const int t = n_steps - 1 - done;
        const long long now = (long long)t * batch;
        const real *old = t ? cells + (now - batch) * n : cell_before;
        if (GROUPS && done) await(counter, slices * done);
        for (int first = part * EXAMPLES; first < batch; first += parts * EXAMPLES) {
            const int example = first + warp;
            const bool is_there = example < batch;
            const real kept = mask && is_there
                ? mask[(long long)example * mask_example + (long long)t * mask_time]
                : 1;
            real open[COLUMNS], active[COLUMNS], left[COLUMNS], seen[COLUMNS],
                grad[COLUMNS], grad_state[COLUMNS];
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) {
                int unit = (slice * COLUMNS + c) * UNITS + lane % UNITS;
                long long in_step = (long long)example * n + unit;
                open[c] = active[c] = left[c] = seen[c] = grad[c] = grad_state[c] = 0;
                if (!is_there || unit >= n) continue;
                open[c] = gates[(now + example) * 4 * n + gate * n + unit];
                active[c] = active_cells[now * n + in_step];
                left[c] = mask ? tanh(cells[now * n + in_step]) : active[c];
                if (old) seen[c] = old[in_step];
                grad[c] = grad_out[(long long)example * grad_example
                    + (long long)t * grad_time + unit];
                if (behind) grad[c] += behind[in_step];
                if (done || !GROUPS) grad_state[c] = __ldcg(grad_cell + in_step);
            }
            if (GROUPS && done) {
                read_rows<32>(
                    rows, gates + (now + batch) * 4 * n, first, batch, 4 * n);
                __syncthreads();
                multiply<32>(sums, rows, weights, warp * 4 + gate);
                __syncthreads();
#pragma unroll
                for (int c = 0; c < COLUMNS; c++) {
                    real sent = summed(sums, c);
                    sent += __shfl_xor_sync(EVERY, sent, UNITS);
                    sent += __shfl_xor_sync(EVERY, sent, 2 * UNITS);
                    grad[c] += sent;
                }
            }
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) {
                int in_slice = lane % UNITS;
                int unit = (slice * COLUMNS + c) * UNITS + in_slice;
                real mine = open[c];
                real block = __shfl_sync(EVERY, mine, in_slice);
                real forget = __shfl_sync(EVERY, mine, UNITS + in_slice);
                real output = __shfl_sync(EVERY, mine, 2 * UNITS + in_slice);
                real entry = __shfl_sync(EVERY, mine, 3 * UNITS + in_slice);
                real state = grad_state[c] + grad[c] * output * (1 - left[c] * left[c]);
                real arrives = gate == 0 ? state * entry
                    : gate == 1 ? state * seen[c]
                    : gate == 2 ? grad[c] * active[c] : state * block;
                real slope = gate ? mine * (1 - mine) : 1 - mine * mine;
                real sent = arrives * slope * (masks_gradient ? kept : 1);
                if (!is_there || unit >= n) continue;
                total[c] += sent;
                gates[(now + example) * 4 * n + gate * n + unit] = sent;
                if (gate == 0)
                    grad_cell[(long long)example * n + unit] = state * forget;
            }
        }
        if (GROUPS && t) announce(counter);
    }
    if (!grad_bias) return;
    // Sums over the examples of this part, then, by the last block of these units,
    // over the parts: always in the same order.
    __syncthreads();
#pragma unroll
    for (int c = 0; c < COLUMNS; c++)
        sums[(c * EXAMPLES + warp) * 32 + lane] = total[c];
    __syncthreads();
    const int unit = (slice * COLUMNS + warp) * UNITS + lane % UNITS;
    const bool is_mine = warp < COLUMNS && unit < n;
    const int at = gate * n + unit;
    real *target = parts == 1 ? grad_bias : bias_sums + (long long)part * 4 * n;
    if (is_mine) {
        real here = 0;
        for (int i = 0; i < EXAMPLES; i++)
            here += sums[(warp * EXAMPLES + i) * 32 + lane];
        target[at] = here;
    }
    if (parts == 1) return;
    int *is_last = (int *)rows;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        *is_last = atomicAdd(counters + 32 * (parts + slice), 1u) + 1 == parts;
        __threadfence();
    }
    __syncthreads();
    if (!*is_last || !is_mine) return;
    real all = 0;
    for (int i = 0; i < parts; i++)
        all += __ldcg(bias_sums + (long long)i * 4 * n + at);
    grad_bias[at] = all;
}
"""

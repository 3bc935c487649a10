"""CUDA C compiled by g++ and run thread by thread: kernels proved without a device.

The threads of a block are fibers that take turns; where one waits at a barrier the next
one goes on. Shared memory is static, as one block runs at a time.
"""

import ctypes
import functools
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile

import numpy as np

from tests.pretend_cupy import Namespace, PretendArray, plain

SHIM = r"""
#include <ucontext.h>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <type_traits>
#include <algorithm>
using namespace std;
#define __global__ static
#define __device__ static inline
#define __forceinline__
#define __shared__ static
#define __restrict__
#define __launch_bounds__(...)
struct dim3_ { int x = 0, y = 0, z = 0; };
static dim3_ threadIdx, blockIdx, blockDim, gridDim;
static const int warpSize = 32;
static ucontext_t fibers[1024], scheduler;
static char* stacks[1024];
static bool done[1024];
static int alive, arrived, generation, warp_alive[32], warp_arrived[32],
    warp_generation[32];
static double slots[1024];
static void hand_over() {
    int me = threadIdx.x;
    swapcontext(&fibers[me], &scheduler);
}
static void __syncthreads() {
    int mine = generation;
    if (++arrived == alive) { arrived = 0; ++generation; return; }
    while (generation == mine) hand_over();
}
static void __syncwarp(unsigned = 0xffffffffu) {
    int w = threadIdx.x / 32, mine = warp_generation[w];
    if (++warp_arrived[w] == warp_alive[w]) {
        warp_arrived[w] = 0; ++warp_generation[w]; return;
    }
    while (warp_generation[w] == mine) hand_over();
}
template <class T> static T swapped(T value, int from) {
    T got;
    memcpy(&slots[threadIdx.x], &value, sizeof(T));
    __syncwarp();
    memcpy(&got, &slots[threadIdx.x / 32 * 32 + from], sizeof(T));
    __syncwarp();
    return got;
}
template <class T> static T __shfl_xor_sync(unsigned, T value, int mask) {
    return swapped(value, (threadIdx.x % 32) ^ mask);
}
template <class T> static T __shfl_down_sync(unsigned, T value, int step) {
    int lane = threadIdx.x % 32;
    return swapped(value, lane + step < 32 ? lane + step : lane);
}
template <class T> static T __shfl_sync(unsigned, T value, int lane) {
    return swapped(value, lane);
}
static float __int_as_float(int v) { float f; memcpy(&f, &v, 4); return f; }
template <class T> static T __ldg(const T* p) { return *p; }
"""

CALL = r"""
template <class T> static char kind() {
    if (is_pointer<T>::value) return 'p';
    if (is_same<T, int>::value) return 'i';
    if (is_same<T, long long>::value) return 'l';
    if (is_same<T, float>::value) return 'f';
    if (is_same<T, double>::value) return 'd';
    return '?';
}
template <class... A> struct Kernel {
    static void (*function)(A...);
    static void** values;
    template <size_t... I> static void apply(index_sequence<I...>) {
        function(*(A*)values[I]...);
    }
    static void enter() {
        apply(index_sequence_for<A...>());
        int me = threadIdx.x;
        done[me] = true; --alive; --warp_alive[me / 32];
        swapcontext(&fibers[me], &scheduler);
    }
    static int run(void (*f)(A...), int blocks, int threads, void** v,
                   const char* kinds) {
        const char expected[] = {kind<A>()..., 0};
        if (strlen(expected) != strlen(kinds)) return 1;
        for (int i = 0; kinds[i]; ++i) {
            bool empty = kinds[i] == '0' && strchr("pl", expected[i]);
            if (kinds[i] != expected[i] && !empty) return 1;
        }
        function = f; values = v;
        gridDim.x = blocks; blockDim.x = threads;
        blockDim.y = blockDim.z = gridDim.y = gridDim.z = 1;
        for (int b = 0; b < blocks; ++b) {
            blockIdx.x = b; alive = threads; arrived = 0;
            memset(warp_alive, 0, sizeof warp_alive);
            memset(warp_arrived, 0, sizeof warp_arrived);
            for (int t = 0; t < threads; ++t) {
                done[t] = false; ++warp_alive[t / 32];
                if (!stacks[t]) stacks[t] = (char*)malloc(1 << 16);
                getcontext(&fibers[t]);
                fibers[t].uc_stack.ss_sp = stacks[t];
                fibers[t].uc_stack.ss_size = 1 << 16;
                fibers[t].uc_link = &scheduler;
                makecontext(&fibers[t], (void (*)())enter, 0);
            }
            for (long idle = 0; alive;) {
                for (int t = 0; t < threads; ++t) if (!done[t]) {
                    threadIdx.x = t;
                    swapcontext(&scheduler, &fibers[t]);
                }
                if (++idle > 1000000) return 2;
            }
        }
        return 0;
    }
};
template <class... A> void (*Kernel<A...>::function)(A...);
template <class... A> void** Kernel<A...>::values;
template <class... A> static int run_(void (*f)(A...), int b, int t, void** v,
                                      const char* kinds) {
    return Kernel<A...>::run(f, b, t, v, kinds);
}
extern "C" int run_NAME(int blocks, int threads, void** values, const char* kinds) {
    return run_(NAME, blocks, threads, values, kinds);
}
"""

_KINDS = {np.int32: "i", np.int64: "l", np.float32: "f", np.float64: "d"}


def has_compiler():
    return shutil.which("g++") is not None


class RawKernel:
    """A kernel that takes what CuPy's takes, and runs on this machine."""

    def __init__(self, source, name):
        self._run = compiled(source, name)
        self._name = name

    def __call__(self, grid, block, args, shared_mem=0):
        assert 0 < grid[0] < 2**31 and 0 < block[0] <= 1024 and shared_mem == 0
        values, kinds = [], ""
        for arg in args:
            if isinstance(arg, PretendArray):
                values.append(ctypes.c_void_p(address_of(arg)))
                kinds += "p"
            elif type(arg) is np.int64 and arg == 0:
                # A pointer that is 0, or a number of as many bits.
                values.append(ctypes.c_void_p(0))
                kinds += "0"
            else:
                values.append(np.ctypeslib.as_ctypes(np.asarray(arg)))
                kinds += _KINDS[type(arg)]
        pointers = (ctypes.c_void_p * len(values))(
            *(ctypes.cast(ctypes.byref(value), ctypes.c_void_p) for value in values)
        )
        status = self._run(grid[0], block[0], pointers, kinds.encode())
        assert status != 1, f"{self._name} was called with arguments of types {kinds}"
        assert status == 0, f"{self._name}: threads of a block wait for each other"


def address_of(array):
    assert array.flags.c_contiguous
    return plain(array).ctypes.data


@functools.cache
def compiled(source, name):
    source = source.replace('extern "C"', "")
    text = SHIM + source + CALL.replace("NAME", name)
    folder = pathlib.Path(tempfile.gettempdir()) / f"cuda_on_host-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    stem = f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    target = folder / f"{stem}.so"
    if not target.exists():
        code, made = (
            folder / f"{stem}-{os.getpid()}.cpp",
            folder / f"{stem}-{os.getpid()}.so",
        )
        code.write_text(text)
        options = ["-O1", "-std=c++17", "-w", "-shared", "-fPIC", "-mfma"]
        subprocess.run(["g++", *options, code, "-o", made], check=True)
        made.rename(target)
        code.unlink()
    run = getattr(ctypes.CDLL(str(target)), f"run_{name}")
    run.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p]
    return run


class KernelNamespace(Namespace):
    """What stands where CuPy would, with kernels that run."""

    RawKernel = RawKernel


def on_device(array):
    """Return a copy of an array of NumPy that kernels of a device take."""
    return np.array(array, order="C").view(PretendArray)

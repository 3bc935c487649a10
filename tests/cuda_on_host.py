"""CUDA C compiled by g++ and run thread by thread: kernels proved without a device.

The threads of a block are fibers that take turns; where one waits at a barrier the next
one goes on. Shared memory is static where one block runs at a time. The blocks of a
cooperative launch take turns, too, and each brings its ``shared_memory``.
"""

import ctypes
import functools
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import types

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
#include <vector>
using namespace std;
#define __global__ static
#define __device__ static inline
#define __forceinline__
#define __shared__ static
#define __restrict__
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
struct dim3_ { int x = 0, y = 0, z = 0; };
static dim3_ threadIdx, blockIdx, blockDim, gridDim;
static const int warpSize = 32;
struct Block {
    ucontext_t fibers[1024];
    char* stacks[1024] = {};
    bool done[1024], rests;
    int alive, arrived, generation, warp_alive[32], warp_arrived[32],
        warp_generation[32];
    double slots[1024];
    std::vector<unsigned char> shared;
    ~Block() { for (char* stack : stacks) free(stack); }
};
static const int GUARD = 4096;
__attribute__((aligned(16))) unsigned char shared_memory[(256 << 10) + GUARD];
static Block* now;
static ucontext_t scheduler;
static void hand_over() { swapcontext(&now->fibers[threadIdx.x], &scheduler); }
static void wait(int& arrived, int& generation, int alive) {
    int mine = generation;
    if (++arrived == alive) { arrived = 0; ++generation; return; }
    while (generation == mine) hand_over();
}
static void __syncthreads() { wait(now->arrived, now->generation, now->alive); }
static void __syncwarp(unsigned = 0xffffffffu) {
    int w = threadIdx.x / 32;
    wait(now->warp_arrived[w], now->warp_generation[w], now->warp_alive[w]);
}
// Where a thread waits for other blocks.
static void __nanosleep(unsigned) { now->rests = true; hand_over(); }
static void __threadfence() {}
static unsigned atomicAdd(unsigned* p, unsigned value) {
    unsigned before = *p;
    *p += value;
    return before;
}
template <class T> static T swapped(T value, int from) {
    T got;
    memcpy(&now->slots[threadIdx.x], &value, sizeof(T));
    __syncwarp();
    memcpy(&got, &now->slots[threadIdx.x / 32 * 32 + from], sizeof(T));
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
template <class T> static T __ldcg(const T* p) { return *p; }
struct __align__(16) float4 { float x, y, z, w; };
struct __align__(16) double2 { double x, y; };
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
        now->done[me] = true; --now->alive; --now->warp_alive[me / 32];
        hand_over();
    }
    static void begin(Block& block, int threads, int shared) {
        block.alive = threads; block.arrived = 0;
        memset(block.warp_alive, 0, sizeof block.warp_alive);
        memset(block.warp_arrived, 0, sizeof block.warp_arrived);
        // What nobody has written is not a number.
        block.shared.assign(shared + GUARD, 0xff);
        for (int t = 0; t < threads; ++t) {
            block.done[t] = false; ++block.warp_alive[t / 32];
            if (!block.stacks[t]) block.stacks[t] = (char*)malloc(1 << 16);
            ucontext_t& fiber = block.fibers[t];
            getcontext(&fiber);
            fiber.uc_stack.ss_sp = block.stacks[t];
            fiber.uc_stack.ss_size = 1 << 16;
            fiber.uc_link = &scheduler;
            makecontext(&fiber, (void (*)())enter, 0);
        }
    }
    static void go_on(Block& block, int number, int threads, bool backwards) {
        now = &block; blockIdx.x = number;
        memcpy(shared_memory, block.shared.data(), block.shared.size());
        for (int i = 0; i < threads; ++i) {
            int t = backwards ? threads - 1 - i : i;
            if (block.done[t]) continue;
            threadIdx.x = t;
            swapcontext(&scheduler, &block.fibers[t]);
        }
        memcpy(block.shared.data(), shared_memory, block.shared.size());
    }
    // At once: all blocks, which may wait for each other, or one after another.
    static int run(void (*f)(A...), int blocks, int threads, void** v,
                   const char* kinds, int shared, int at_once) {
        const char expected[] = {kind<A>()..., 0};
        if (strlen(expected) != strlen(kinds)) return 1;
        for (int i = 0; kinds[i]; ++i) {
            bool empty = kinds[i] == '0' && strchr("pl", expected[i]);
            if (kinds[i] != expected[i] && !empty) return 1;
        }
        function = f; values = v;
        gridDim.x = blocks; blockDim.x = threads;
        blockDim.y = blockDim.z = gridDim.y = gridDim.z = 1;
        int together = at_once ? blocks : 1;
        std::vector<Block> running(together);
        for (int first = 0; first < blocks; first += together) {
            for (Block& block : running) begin(block, threads, shared);
            // One goes ahead, then another: what misses a barrier is seen.
            unsigned drawn = 1;
            for (int alive = together, turns = 0; alive;) {
                drawn = drawn * 1664525 + 1013904223;
                int number = (drawn >> 16) % together;
                Block& block = running[number];
                if (!block.alive) continue;
                block.rests = false;
                for (int i = 0; i < 500 && block.alive && !block.rests; ++i)
                    go_on(block, first + number, threads, drawn >> 16 & i & 1);
                if (!block.alive) --alive;
                if (++turns > 10000) return 2;
            }
            for (Block& block : running)
                for (int i = 0; i < GUARD; ++i)
                    if (block.shared[shared + i] != 0xff) return 3;
        }
        return 0;
    }
};
template <class... A> void (*Kernel<A...>::function)(A...);
template <class... A> void** Kernel<A...>::values;
template <class... A> static int run_(void (*f)(A...), int b, int t, void** v,
                                      const char* kinds, int shared, int at_once) {
    return Kernel<A...>::run(f, b, t, v, kinds, shared, at_once);
}
extern "C" int run_NAME(int blocks, int threads, void** values, const char* kinds,
                        int shared, int at_once) {
    return run_(NAME, blocks, threads, values, kinds, shared, at_once);
}
"""

_KINDS = {np.int32: "i", np.int64: "l", np.float32: "f", np.float64: "d"}


def has_compiler():
    return shutil.which("g++") is not None


class RawKernel:
    """A kernel that takes what CuPy's takes, and runs on this machine."""

    max_dynamic_shared_size_bytes = 48 << 10

    def __init__(self, source, name, *, enable_cooperative_groups=False):
        self._run = compiled(source, name)
        self._name = name
        self._at_once = enable_cooperative_groups

    def __call__(self, grid, block, args, shared_mem=0):
        assert 0 < grid[0] < 2**31
        assert 0 < block[0] <= 1024
        assert shared_mem <= self.max_dynamic_shared_size_bytes <= 227 << 10
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
        status = self._run(
            grid[0], block[0], pointers, kinds.encode(), shared_mem, self._at_once
        )
        assert status != 1, f"{self._name} was called with arguments of types {kinds}"
        assert status != 2, f"{self._name}: threads wait for each other"
        assert status == 0, f"{self._name} wrote behind its shared memory"


def address_of(array):
    return plain(array).ctypes.data


@functools.cache
def compiled(source, name):
    source = source.replace('extern "C"', "").replace("extern __shared__", "extern")
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
    run.argtypes = [
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_int,
    ]
    return run


class KernelNamespace(Namespace):
    """What stands where CuPy would, with kernels that run."""

    RawKernel = RawKernel
    cuda = types.SimpleNamespace(
        runtime=types.SimpleNamespace(
            **vars(Namespace.cuda.runtime), getDevice=lambda: 0
        ),
        Device=lambda number: types.SimpleNamespace(
            attributes={
                "MultiProcessorCount": 132,
                "MaxSharedMemoryPerBlockOptin": 227 << 10,
            }
        ),
    )


def on_device(array):
    """Return a copy of an array of NumPy that kernels of a device take."""
    return np.array(array, order="C").view(PretendArray)

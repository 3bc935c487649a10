"""What kernels for a CUDA device are made of: CUDA C, cuBLAS and cuDNN.

A twin of a topic's ``cpu.py`` is its ``gpu.py``; both are chosen by the arrays, see
:mod:`daskdl.kernels.dispatch`. Everything here runs on CuPy's current stream, and can
be captured in a CUDA graph: it allocates from CuPy's pool, and never waits.
"""

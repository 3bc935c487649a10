"""Kernels that numba compiled as plain machine code, which runs without numba.

Importing numba and its tables takes longer than everything else that a process does
before its first iteration. So what numba compiled is cut out of its module, behind an
entry of our own (:mod:`~daskdl.kernels.entry_writer`), and kept on disk.

That needs no more of numba than the order in which its functions take the parts of an
array. It is checked against the types of the function. One that differs, or that calls
numba's runtime because it makes arrays, goes on through numba.
"""

import ctypes
import functools
import re
import sys
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from daskdl.kernels.kinds import Kind, is_plain
from daskdl.kernels.machine_code import addresses_of, target_machine

Native: TypeAlias = Callable[..., Any]

_METH_VARARGS = 0x01


class _Method(ctypes.Structure):
    """What Python knows of a function in C."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


# Python does not copy them: they live as long as the functions.
_methods: list[_Method] = []


def can_enter(kinds: tuple[Kind, ...]) -> bool:
    """Return whether an entry can take such arguments: plain arrays, and numbers."""
    return _objects_are_as_expected() and all(map(is_plain, kinds))


def loaded(code: bytes, kinds: tuple[Kind, ...], otherwise: Native) -> Native:
    """Return a function that runs an entry's code.

    Parameters
    ----------
    code : bytes
        Of :func:`entry_code`.
    kinds : tuple
        What it was compiled for.
    otherwise : callable
        Called in its place for arguments of other kinds.

    Returns
    -------
    function
        Takes what the kernel takes and returns what it returns. Raises RuntimeError
        where the kernel raises.
    """
    from daskdl.kernels.entry_writer import ENTRY, TABLE

    function, table = addresses_of((ENTRY, TABLE), code)
    known: list[Any] = [None, True, RuntimeError]
    for kind in kinds:
        known += (np.ndarray, kind[0]) if isinstance(kind, tuple) else (kind, None)
    (ctypes.c_size_t * len(known)).from_address(table)[:] = [id(one) for one in known]
    method = _Method(b"kernel", function, _METH_VARARGS, None)
    _methods.append(method)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    native: Native = make(ctypes.addressof(method), otherwise, None)
    return native


def entry_code(result: Any, kinds: tuple[Kind, ...]) -> bytes | None:
    """Return the object code of an entry to what numba compiled.

    Parameters
    ----------
    result : numba.core.compiler.CompileResult
        Compiled in this process: what numba loads from its cache has no LLVM code.
    kinds : tuple
        Of its arguments; :func:`can_enter` must hold.

    Returns
    -------
    bytes or None
        For :func:`loaded`; None if the function can only run inside numba.
    """
    from llvmlite import binding

    from daskdl.kernels import entry_writer as writer

    returned = str(result.signature.return_type)
    name = result.fndesc.llvm_func_name
    module = binding.parse_assembly(result.library.get_llvm_str())
    parts = [part for kind in kinds for part in writer.parts_of(kind)]
    # Pointers have types of their own in older LLVMs.
    found = [
        re.sub(r".*\*$", "ptr", str(argument.type))
        for argument in module.get_function(name).arguments
    ]
    if returned not in writer.RESULTS or found != ["ptr", "ptr", *parts]:
        return None
    entry = writer.write_entry(name, kinds, returned)
    module.link_in(binding.parse_assembly(entry))
    _keep_only(module, (writer.ENTRY, writer.TABLE))
    missing = {item.name for item in module.functions if _is_missing(item)}
    if missing - {writer.LET_GO}:
        return None
    if missing:
        module.link_in(binding.parse_assembly(writer.write_nothing_to_let_go()))
    module.verify()
    code: bytes = target_machine().emit_object(module)
    return code


@functools.cache
def _objects_are_as_expected() -> bool:
    """Return whether Python's and NumPy's objects have their parts where we look.

    The parts of an array are part of NumPy's binary interface, and those of a float as
    old as Python; a Python of another make may differ.
    """
    from daskdl.kernels import entry_writer as offsets

    if sys.implementation.name != "cpython":
        return False
    array = np.zeros((2, 3), np.float32)
    word, of_array = ctypes.c_size_t, id(array)
    shape = word.from_address(of_array + offsets.SHAPE).value
    strides = word.from_address(of_array + offsets.STRIDES).value
    return (
        word.from_address(of_array + offsets.TYPE).value == id(np.ndarray)
        and word.from_address(of_array + offsets.DATA).value == array.ctypes.data
        and ctypes.c_int.from_address(of_array + offsets.N_AXES).value == array.ndim
        and tuple((word * 2).from_address(shape)) == array.shape
        and tuple((word * 2).from_address(strides)) == array.strides
        and word.from_address(of_array + offsets.ELEMENTS).value == id(array.dtype)
        and ctypes.c_int.from_address(of_array + offsets.LAYOUT).value & 0xFFFF
        == array.flags.num & 0xFFFF
        and _values_are_as_expected()
    )


def _values_are_as_expected() -> bool:
    from daskdl.kernels.entry_writer import ITEMS, LENGTH, VALUE

    word, values = ctypes.c_size_t, (1.5, np.float64(1.5), np.float32(1.5))
    items = (word * len(values)).from_address(id(values) + ITEMS)
    kinds = (ctypes.c_double, ctypes.c_double, ctypes.c_float)
    return (
        word.from_address(id(values) + LENGTH).value == len(values)
        and list(items) == [id(value) for value in values]
        and all(
            kind.from_address(id(value) + VALUE).value == value
            for value, kind in zip(values, kinds, strict=True)
        )
    )


def _keep_only(module: Any, names: tuple[str, ...]) -> None:
    """Drop what the entry does not reach: numba's own way in from Python."""
    from llvmlite import binding

    for item in (*module.functions, *module.global_variables):
        if not item.is_declaration and item.name not in names:
            item.linkage = "internal"
    if hasattr(binding, "create_module_pass_manager"):
        # Before llvmlite 0.45; later ones know the other way only.
        passes = binding.create_module_pass_manager()
        passes.add_global_dce_pass()
        passes.run(module)
        return
    passes = binding.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    options = binding.create_pipeline_tuning_options()
    passes.run(module, binding.create_pass_builder(target_machine(), options))


def _is_missing(function: Any) -> bool:
    """Whether a function is declared that LLVM does not find in any process."""
    if not function.is_declaration or function.name.startswith("llvm."):
        return False
    return not hasattr(ctypes.CDLL(None), function.name)

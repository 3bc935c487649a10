"""Kernels that numba compiled as plain machine code, which runs without numba.

Importing numba and its tables takes longer than everything else that a process does
before its first iteration. So what numba compiled is cut out of its module, behind an
entry of our own, and kept on disk::

    entry(array, 0.5, None, result)          called through ctypes, without the GIL
      array -> data, shape, strides          read from NumPy's array object
      kernel(result, ..., data, shape, ...)  numba's own function
      -> 0, or 1 if numba's function failed

That needs no more of numba than the order in which its functions take the parts of an
array. It is checked against the types of the function; one that differs, or that calls
numba's runtime (because it makes arrays), goes on through numba.
"""

import ctypes
import functools
import re
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from daskdl.kernels.machine_code import address_of, target_machine

Kind: TypeAlias = Any
Native: TypeAlias = Callable[..., Any]

ENTRY = "daskdl_entry"
# What numba calls for the owner of an array that is not used any more.
_LET_GO = "NRT_MemInfo_call_dtor"

# NumPy's flags C_CONTIGUOUS and ALIGNED, and WRITEABLE, of which numba makes a type.
_PLAIN = 0x101
_FLAGS = 0x501
# NumPy's array object: addresses of data, shape and strides lie this far behind its
# head, which is that of every object.
_HEAD = object.__basicsize__
_DATA, _SHAPE, _STRIDES = _HEAD, _HEAD + 16, _HEAD + 24

# What comes back, by numba's name: how to read it.
_RESULTS: dict[str, Any] = {
    "none": None,
    "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
    "bool": ctypes.c_bool,
}
# What goes in, by its Python type: what ctypes makes of it, and LLVM's name.
_SCALARS: dict[type, tuple[Any, str]] = {
    bool: (ctypes.c_bool, "i8"),
    int: (ctypes.c_int64, "i64"),
    float: (ctypes.c_double, "double"),
    np.float64: (ctypes.c_double, "double"),
    np.float32: (ctypes.c_float, "float"),
    type(None): (ctypes.py_object, "ptr"),
}


def kinds_of(arguments: tuple[Any, ...]) -> tuple[Kind, ...]:
    """Return what code is compiled for: type, axes and layout, not shapes."""
    return tuple(
        [
            (x.dtype, x.ndim, x.flags.num & _FLAGS)
            if type(x) is np.ndarray
            else type(x)
            for x in arguments
        ]
    )


def can_enter(kinds: tuple[Kind, ...]) -> bool:
    """Return whether an entry can take such arguments: plain arrays, and numbers."""
    return _array_is_as_expected() and all(
        kind[1] > 0
        and kind[2] & _PLAIN == _PLAIN
        and kind[0].isnative
        and kind[0].kind in "fiub"
        if isinstance(kind, tuple)
        else kind in _SCALARS
        for kind in kinds
    )


def loaded(code: bytes, kinds: tuple[Kind, ...]) -> Native:
    """Return a function that runs an entry's code.

    Returns
    -------
    function
        Takes what the kernel takes and returns what it returns. Raises RuntimeError
        where the kernel raises.
    """
    result, _, code = code.partition(b"\n")
    address = address_of(ENTRY, code)
    types = [
        ctypes.py_object if isinstance(kind, tuple) else _SCALARS[kind][0]
        for kind in kinds
    ]
    entry = ctypes.CFUNCTYPE(ctypes.c_int, *types, ctypes.c_void_p)(address)
    type_of_result = _RESULTS[result.decode()]

    def run(*arguments: Any) -> None:
        if entry(*arguments, None):
            raise _failure()

    def answer(*arguments: Any) -> Any:
        # Eight bytes for each, since threads may run it side by side.
        room = ctypes.c_int64()
        if entry(*arguments, ctypes.addressof(room)):
            raise _failure()
        return type_of_result.from_buffer(room).value

    return run if type_of_result is None else answer


def entry_code(result: Any, kinds: tuple[Kind, ...]) -> bytes | None:
    """Return the object code of an entry to what numba compiled.

    Parameters
    ----------
    result : numba.core.compiler.CompileResult
        Compiled in this process: what numba loads from its cache has no LLVM code.
    kinds : tuple
        Of :func:`kinds_of`; :func:`can_enter` must hold.

    Returns
    -------
    bytes or None
        For :func:`loaded`; None if the function can only run inside numba.
    """
    from llvmlite import binding

    returned = str(result.signature.return_type)
    name = result.fndesc.llvm_func_name
    module = binding.parse_assembly(result.library.get_llvm_str())
    kernel = module.get_function(name)
    parts = [part for kind in kinds for part in _parts(kind)]
    found = [
        re.sub(r".*\*", "ptr", str(argument.type)) for argument in kernel.arguments
    ]
    if returned not in _RESULTS or found != [
        "ptr",
        "ptr",
        *(text for text, _ in parts),
    ]:
        return None
    module.link_in(binding.parse_assembly(_entry(name, kinds)))
    _keep_only_entry(module)
    names = {item.name for item in module.functions if _is_numbas(item)}
    if names - {_LET_GO}:
        return None
    if names:
        module.link_in(binding.parse_assembly(_no_owner()))
    code: bytes = target_machine().emit_object(module)
    return returned.encode() + b"\n" + code


def _failure() -> RuntimeError:
    return RuntimeError("kernel: shapes must go together, got others.")


@functools.cache
def _array_is_as_expected() -> bool:
    """Return whether NumPy's array object has its parts where the entries look."""
    array = np.zeros((2, 3), np.float32)
    places = (ctypes.c_size_t * 4).from_address(id(array) + _HEAD)
    shape = (ctypes.c_size_t * 2).from_address(places[2])
    strides = (ctypes.c_size_t * 2).from_address(places[3])
    return (
        places[0] == array.ctypes.data
        and tuple(shape) == array.shape
        and tuple(strides) == array.strides
    )


def _parts(kind: Kind) -> list[tuple[str, Any]]:
    """Return LLVM's types of what numba makes of an argument, and how to get each.

    That is the number of bytes behind the address of the array, or the address of an
    address and the number there, a constant, or None for the argument itself.
    """
    if not isinstance(kind, tuple):
        return [(_SCALARS[kind][1], None)]
    dtype, n_axes, _ = kind
    owner_and_parent = [("ptr", ("null", 0))] * 2
    return [
        *owner_and_parent,
        ("i64", ("size", n_axes)),
        ("i64", ("constant", dtype.itemsize)),
        ("ptr", ("data", 0)),
        *(("i64", ("shape", axis)) for axis in range(n_axes)),
        *(("i64", ("strides", axis)) for axis in range(n_axes)),
    ]


def _entry(name: str, kinds: tuple[Kind, ...]) -> str:
    """Return LLVM code that takes Python's arrays apart and calls a kernel."""
    from llvmlite import ir

    pointer = ir.IntType(8).as_pointer()
    word, status = ir.IntType(64), ir.IntType(32)
    types = {
        "ptr": pointer,
        "i64": word,
        "i8": ir.IntType(8),
        "float": ir.FloatType(),
        "double": ir.DoubleType(),
    }
    module = ir.Module()
    taken = [types[text] for kind in kinds for text, _ in _parts(kind)]
    kernel = ir.Function(
        module, ir.FunctionType(status, [pointer, pointer, *taken]), name
    )
    given = [
        pointer if isinstance(kind, tuple) else types[_SCALARS[kind][1]]
        for kind in kinds
    ]
    entry = ir.Function(module, ir.FunctionType(status, [*given, pointer]), ENTRY)
    builder = ir.IRBuilder(entry.append_basic_block())
    *arguments, result = entry.args

    def word_at(address: Any, offset: int) -> Any:
        place = builder.gep(address, [word(offset)])
        return builder.load(builder.bitcast(place, word.as_pointer()))

    def pointer_at(address: Any, offset: int) -> Any:
        return builder.inttoptr(word_at(address, offset), pointer)

    def got(argument: Any, how: Any) -> Any:
        if how is None:
            return argument
        what, number = how
        if what == "null":
            return pointer(None)
        if what == "constant":
            return word(number)
        if what == "data":
            return pointer_at(argument, _DATA)
        if what == "strides":
            return word_at(pointer_at(argument, _STRIDES), 8 * number)
        shape = pointer_at(argument, _SHAPE)
        if what == "shape":
            return word_at(shape, 8 * number)
        lengths = [word_at(shape, 8 * axis) for axis in range(number)]
        return functools.reduce(builder.mul, lengths)

    # What a kernel without a result writes, and an error that nobody reads.
    spare = builder.bitcast(builder.alloca(word), pointer)
    error = builder.bitcast(builder.alloca(word), pointer)
    has_room = builder.icmp_unsigned("!=", result, pointer(None))
    values = [
        got(argument, how)
        for argument, kind in zip(arguments, kinds, strict=True)
        for _, how in _parts(kind)
    ]
    returned = builder.call(
        kernel, [builder.select(has_room, result, spare), error, *values]
    )
    # 0, and -2 for None, is numba's way to say that all went well.
    fine = builder.or_(
        builder.icmp_signed("==", returned, status(0)),
        builder.icmp_signed("==", returned, status(-2)),
    )
    builder.ret(builder.zext(builder.not_(fine), status))
    return str(module)


def _no_owner() -> str:
    """Return LLVM code that lets nothing go: no array has an owner that numba knows."""
    from llvmlite import ir

    module = ir.Module()
    takes_pointer = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer()])
    let_go = ir.Function(module, takes_pointer, _LET_GO)
    let_go.linkage = "linkonce_odr"
    ir.IRBuilder(let_go.append_basic_block()).ret_void()
    return str(module)


def _keep_only_entry(module: Any) -> None:
    """Drop what the entry does not reach: numba's own way in from Python."""
    from llvmlite import binding

    for item in (*module.functions, *module.global_variables):
        if not item.is_declaration and item.name != ENTRY:
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


def _is_numbas(function: Any) -> bool:
    """Whether a function is declared that LLVM does not find in any process."""
    if not function.is_declaration or function.name.startswith("llvm."):
        return False
    return not hasattr(ctypes.CDLL(None), function.name)

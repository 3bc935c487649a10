"""The LLVM code between Python and a function that numba compiled.

It is a function of C's interface to Python, and goes like this::

    entry(kernel, arguments)
      for each argument                 type, axes, layout: is it what the code is for?
        no -> return kernel(*arguments)
      let go of the GIL
      function(result, error, parts of the arguments)
      take the GIL
      return result, or raise RuntimeError if the function failed

What differs from process to process, the addresses of types, comes from a table that
is filled when the code is loaded.
"""

from typing import Any

from llvmlite import ir

from daskdl.kernels.kinds import FLAGS, SCALARS, ArrayKind, Kind

ENTRY = "daskdl_entry"
TABLE = "daskdl_table"
# What numba calls for the owner of an array that is not used any more.
LET_GO = "NRT_MemInfo_call_dtor"
# What can come back, by numba's name.
RESULTS = ("none", "int64", "uint64", "float32", "float64", "bool")

# The table begins with the addresses of None, True and RuntimeError; then there are two
# words for each argument, its type and its type of elements.
N_FIXED = 3
_NONE, _TRUE, _ERROR = range(N_FIXED)

# Where things lie in Python's objects, its tuples, and NumPy's arrays.
HEAD = object.__basicsize__
TYPE, VALUE = HEAD - 8, HEAD
LENGTH, ITEMS = HEAD, tuple.__basicsize__
DATA, N_AXES, SHAPE, STRIDES, ELEMENTS, LAYOUT = (
    HEAD + offset for offset in (0, 8, 16, 24, 40, 48)
)

_BYTE, _INT, _WORD = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_POINTER = _BYTE.as_pointer()
_TYPES = {
    "ptr": _POINTER,
    "i8": _BYTE,
    "i64": _WORD,
    "float": ir.FloatType(),
    "double": ir.DoubleType(),
}
# 0, and -2 for None, is numba's way to say that all went well.
_FINE, _FINE_AND_NONE = 0, -2


def parts_of(kind: Kind) -> list[str]:
    """Return the LLVM types of what numba makes of an argument."""
    if not isinstance(kind, tuple):
        return [SCALARS[kind]]
    return ["ptr", "ptr", "i64", "i64", "ptr", *["i64"] * (2 * kind[1])]


def write_entry(name: str, kinds: tuple[Kind, ...], returned: str) -> str:
    """Return the code of an entry.

    Parameters
    ----------
    name : str
        Of the function that numba compiled.
    kinds : tuple
        Of its arguments.
    returned : str
        One of `RESULTS`.
    """
    return str(_Entry(name, kinds, returned).module)


def write_nothing_to_let_go() -> str:
    """Return the code that stands in for numba's: our arrays have no owner there."""
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [_POINTER]), LET_GO)
    ir.IRBuilder(function.append_basic_block()).ret_void()
    return str(module)


class _Entry:
    def __init__(self, name: str, kinds: tuple[Kind, ...], returned: str) -> None:
        self.module = ir.Module()
        taken = [_TYPES[part] for kind in kinds for part in parts_of(kind)]
        self._kernel = self._function(name, _INT, [_POINTER, _POINTER, *taken])
        self._table = ir.GlobalVariable(
            self.module, ir.ArrayType(_WORD, N_FIXED + 2 * len(kinds)), TABLE
        )
        self._table.initializer = ir.Constant(self._table.value_type, None)
        entry = self._function(ENTRY, _POINTER, [_POINTER, _POINTER])
        self._builder = ir.IRBuilder(entry.append_basic_block())
        self._other = entry.append_basic_block()
        self._write(entry.args, kinds, returned)

    def _write(self, given: Any, kinds: tuple[Kind, ...], returned: str) -> None:
        build = self._builder
        kernel, arguments = given
        n = self._at(arguments, LENGTH, _WORD)
        self._go_on_if(build.icmp_signed("==", n, _WORD(len(kinds))))
        objects = [
            self._pointer_at(arguments, ITEMS + 8 * i) for i in range(len(kinds))
        ]
        for i, (value, kind) in enumerate(zip(objects, kinds, strict=True)):
            self._check(value, kind, N_FIXED + 2 * i)
        parts = [
            part
            for value, kind in zip(objects, kinds, strict=True)
            for part in self._parts(value, kind)
        ]
        result, error = build.alloca(_WORD), build.alloca(_WORD)
        slots = [build.bitcast(slot, _POINTER) for slot in (result, error)]
        state = self._call("PyEval_SaveThread", _POINTER)
        status = build.call(self._kernel, [*slots, *parts])
        self._call("PyEval_RestoreThread", ir.VoidType(), state)
        is_fine = build.or_(
            build.icmp_signed("==", status, _INT(_FINE)),
            build.icmp_signed("==", status, _INT(_FINE_AND_NONE)),
        )
        with build.if_then(build.not_(is_fine), likely=False):
            self._raise()
        build.ret(self._result(slots[0], returned))
        build.position_at_end(self._other)
        build.ret(self._call("PyObject_CallObject", _POINTER, kernel, arguments))

    def _check(self, value: Any, kind: Kind, entry: int) -> None:
        """Go on with the other code unless an argument is of a kind."""
        build = self._builder
        if kind is type(None):
            self._go_on_if(
                build.icmp_unsigned("==", self._address(value), self._entry_of(_NONE))
            )
            return
        found = self._at(value, TYPE, _WORD)
        self._go_on_if(build.icmp_unsigned("==", found, self._entry_of(entry)))
        if not isinstance(kind, tuple):
            return
        _, n_axes, layout = kind
        elements = self._at(value, ELEMENTS, _WORD)
        flags = build.and_(self._at(value, LAYOUT, _INT), _INT(FLAGS))
        for is_so in (
            build.icmp_unsigned("==", elements, self._entry_of(entry + 1)),
            build.icmp_signed("==", self._at(value, N_AXES, _INT), _INT(n_axes)),
            build.icmp_unsigned("==", flags, _INT(layout)),
        ):
            self._go_on_if(is_so)

    def _parts(self, value: Any, kind: Kind) -> list[Any]:
        """Return what numba makes of an argument."""
        if isinstance(kind, tuple):
            return self._parts_of_array(value, kind)
        if kind is type(None):
            return [_POINTER(None)]
        if kind is bool:
            is_true = self._builder.icmp_unsigned(
                "==", self._address(value), self._entry_of(_TRUE)
            )
            return [self._builder.zext(is_true, _BYTE)]
        if kind is int:
            return [self._integer(value)]
        return [self._at(value, VALUE, _TYPES[SCALARS[kind]])]

    def _parts_of_array(self, value: Any, kind: ArrayKind) -> list[Any]:
        dtype, n_axes, _ = kind
        shape = self._pointer_at(value, SHAPE)
        strides = self._pointer_at(value, STRIDES)
        lengths = [self._at(shape, 8 * axis, _WORD) for axis in range(n_axes)]
        size = lengths[0]
        for length in lengths[1:]:
            size = self._builder.mul(size, length)
        # Neither owner nor parent: the caller holds the arrays.
        return [
            _POINTER(None),
            _POINTER(None),
            size,
            _WORD(dtype.itemsize),
            self._pointer_at(value, DATA),
            *lengths,
            *(self._at(strides, 8 * axis, _WORD) for axis in range(n_axes)),
        ]

    def _integer(self, value: Any) -> Any:
        number = self._call("PyLong_AsLongLong", _WORD, value)
        looks_wrong = self._builder.icmp_signed("==", number, _WORD(-1))
        with self._builder.if_then(looks_wrong, likely=False):
            error = self._call("PyErr_Occurred", _POINTER)
            is_error = self._builder.icmp_unsigned("!=", error, _POINTER(None))
            with self._builder.if_then(is_error):
                self._builder.ret(_POINTER(None))
        return number

    def _result(self, slot: Any, returned: str) -> Any:
        if returned == "none":
            none = self._builder.inttoptr(self._entry_of(_NONE), _POINTER)
            self._call("Py_IncRef", ir.VoidType(), none)
            return none
        if returned == "float64":
            number = self._at(slot, 0, ir.DoubleType())
            return self._call("PyFloat_FromDouble", _POINTER, number)
        if returned == "float32":
            number = self._at(slot, 0, ir.FloatType())
            number = self._builder.fpext(number, ir.DoubleType())
            return self._call("PyFloat_FromDouble", _POINTER, number)
        if returned == "bool":
            number = self._builder.zext(self._at(slot, 0, _BYTE), _WORD)
            return self._call("PyBool_FromLong", _POINTER, number)
        sign = "Unsigned" if returned == "uint64" else ""
        number = self._at(slot, 0, _WORD)
        return self._call(f"PyLong_From{sign}LongLong", _POINTER, number)

    def _raise(self) -> None:
        text = bytearray(b"kernel: must work on what it got, and failed.\0")
        message = ir.GlobalVariable(
            self.module, ir.ArrayType(_BYTE, len(text)), "daskdl_message"
        )
        message.initializer = ir.Constant(message.value_type, text)
        kind = self._builder.inttoptr(self._entry_of(_ERROR), _POINTER)
        told = self._builder.bitcast(message, _POINTER)
        self._call("PyErr_SetString", ir.VoidType(), kind, told)
        self._builder.ret(_POINTER(None))

    def _go_on_if(self, is_so: Any) -> None:
        follows = self._builder.append_basic_block()
        self._builder.cbranch(is_so, follows, self._other)
        self._builder.position_at_end(follows)

    def _entry_of(self, entry: int) -> Any:
        return self._at(self._builder.bitcast(self._table, _POINTER), 8 * entry, _WORD)

    def _address(self, value: Any) -> Any:
        return self._builder.ptrtoint(value, _WORD)

    def _pointer_at(self, address: Any, offset: int) -> Any:
        return self._builder.inttoptr(self._at(address, offset, _WORD), _POINTER)

    def _at(self, address: Any, offset: int, kind: Any) -> Any:
        target = self._builder.gep(address, [_WORD(offset)])
        return self._builder.load(self._builder.bitcast(target, kind.as_pointer()))

    def _call(self, name: str, result: Any, *arguments: Any) -> Any:
        function = self.module.globals.get(name) or self._function(
            name, result, [argument.type for argument in arguments]
        )
        return self._builder.call(function, arguments)

    def _function(self, name: str, result: Any, arguments: list[Any]) -> Any:
        return ir.Function(self.module, ir.FunctionType(result, arguments), name)

"""Compile the kernels of a network before there are data."""

import atexit
import ctypes
import logging
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.errors import OptionError
from daskdl.nn.batches import ArraySpec
from daskdl.nn.conf.input_type import Recurrent

if TYPE_CHECKING:
    from daskdl.nn.network import Network

_LOGGER = logging.getLogger(__name__)
# Code is for any number of time steps; two run all of it.
_TIME_STEPS = 2
# LLVM works on one function for less.
_ENDS_WITHIN_S = 10.0


def compile_for(network: "Network[Any]", batch_size: int) -> None:
    """Train one minibatch of zeros, which compiles all that training needs.

    Parameters
    ----------
    network : Network
        Changed: it is of no more use afterwards.
    batch_size : int
        Examples of the minibatches to come.

    Raises
    ------
    OptionError
        If the network leaves sizes open that only data tell.
    """
    features = [_zeros(spec, batch_size) for spec in network.inputs]
    labels = [_zeros(spec, batch_size) for spec in network.labels]
    if len(features) == len(labels) == 1:
        network.fit_minibatch(DataSet(features[0], labels[0]))
    else:
        network.fit_minibatch(MultiDataSet(features, labels))


def start_compiling(network: "Network[Any]", batch_size: int) -> threading.Thread:
    """Compile in the background the code that training `network` will need.

    Nothing of the network is touched: a copy of its configuration is trained.

    Parameters
    ----------
    network : Network
        What will be trained.
    batch_size : int
        Examples of its minibatches.

    Returns
    -------
    thread
        A daemon: a process may end before it does, which ends it. What fails in it is
        logged, and will fail again, and be told, where it matters.
    """
    kind, conf, n_params = type(network), network.conf, network.n_params

    def work() -> None:
        try:
            # Parameters are given, since to draw them takes longest.
            compile_for(kind(conf, np.zeros(n_params, network.dtype)), batch_size)
        except Exception as error:  # noqa: BLE001 - it will be raised where it matters
            _LOGGER.debug("nothing was compiled ahead: %s", error)

    thread = threading.Thread(target=work, name="daskdl-compile", daemon=True)
    thread.start()
    atexit.register(_end, thread)
    return thread


def _end(thread: threading.Thread) -> None:
    """End the compiling: a daemon that is killed within LLVM aborts the process."""
    if thread.is_alive() and thread.ident is not None:
        ended = ctypes.py_object(SystemExit)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ended)
        thread.join(_ENDS_WITHIN_S)


def _zeros(spec: ArraySpec, batch_size: int) -> FloatArray:
    kind = spec.type
    if isinstance(kind, Recurrent) and kind.time_steps is None:
        kind = kind.replaced(time_steps=_TIME_STEPS)
    shape = kind.border_shape
    if None in shape:
        raise OptionError(
            f"{spec.who}: sizes must be known before there are data, got {kind}."
        )
    return np.zeros((batch_size, *(n for n in shape if n is not None)), np.float32)

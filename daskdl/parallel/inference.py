"""Predictions for many threads at one time: DL4J's ParallelInference."""

import os
from types import TracebackType
from typing import Any

from daskdl.checks import as_known, check_count, check_one_of, check_type
from daskdl.cluster.camel_case import answers_to_camel_case
from daskdl.nn.network import Network
from daskdl.nn.predictions import predicted
from daskdl.parallel.batching_thread import BatchingThread, closed
from daskdl.parallel.other_options import refuse_others
from daskdl.parallel.requests import Request

__all__ = ["ParallelInference"]

BATCHED, SEQUENTIAL, INPLACE = MODES = ("batched", "sequential", "inplace")

# Those of DL4J's builder, and what to do without them.
_ELSEWHERE = {
    "inference_mode": "It is called mode here.",
    "workers": "One thread answers all, and a pass takes the cores of the machine but "
    "for one, which the callers have; network.threads says how many.",
    "load_balance_mode": "There is one queue, in the order in which requests come.",
    "layers_to_output_to": "Make a ComputationGraph whose outputs are these layers.",
    "layer_indices_output_to": "Make a ComputationGraph whose outputs are these "
    "layers.",
}


@answers_to_camel_case
class ParallelInference:
    """A network that many threads ask at one time; DL4J's ParallelInference.

    What comes while the network computes waits, and goes through it together, as rows
    of one minibatch: that takes a fraction of the time of a pass for each.

    Parameters
    ----------
    network : MultiLayerNetwork or ComputationGraph
        Not copied: training it meanwhile comes between two passes, and changes answers.
    mode : {'batched', 'sequential', 'inplace'}
        Join requests ('batched'), or answer one after the other ('sequential'), both by
        a thread that computes for all; or let each caller's thread compute when it has
        its turn ('inplace').
    batch_limit : int
        Rows that are joined at most; only 'batched'. A request that has more has a pass
        of its own.
    queue_limit : int
        Requests that wait at most; who brings another one waits for room. Means nothing
        to 'inplace', where callers wait for their turn.

    Raises
    ------
    OptionError
        If an option is out of range, or one of DL4J's that has no meaning here: the
        message says what takes its place.

    Notes
    -----
    The same as :meth:`daskdl.nn.network.Network.output`, but for rounding: BLAS may add
    up in another order in a larger minibatch. Layers of your own that look at the
    examples of a minibatch together see those of other callers; they need
    'sequential'.

    A copy in a forked process has a thread of its own.

    References
    ----------
    DL4J's ParallelInference. Where we differ: `batch_limit` counts rows, not requests;
    requests are joined whatever came between them; the error of a request reaches
    nobody else.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> import numpy as np
    >>> import daskdl
    >>> network = daskdl.MultiLayerNetwork(
    ...     daskdl.MultiLayerConfiguration(
    ...         input=daskdl.FeedForward(size=4), layers=[daskdl.Output(n_out=3)]
    ...     )
    ... )
    >>> with daskdl.ParallelInference(network) as inference:
    ...     with ThreadPoolExecutor(8) as threads:
    ...         rows = np.eye(4)[:, None]
    ...         outputs = list(threads.map(inference.output, rows))
    >>> len(outputs), outputs[0].shape
    (4, (1, 3))
    """

    def __init__(
        self,
        network: Network[Any],
        *,
        mode: str = BATCHED,
        batch_limit: int = 32,
        queue_limit: int = 64,
        **others: Any,
    ) -> None:
        who = type(self).__name__
        refuse_others(who, others, ("mode", "batch_limit", "queue_limit"), _ELSEWHERE)
        self._mode = check_one_of(who, "mode", as_known(mode, MODES), MODES)
        check_count(who, "batch_limit", batch_limit)
        self._most_rows = batch_limit if self._mode == BATCHED else None
        self._queue_limit = check_count(who, "queue_limit", queue_limit)
        self._network = _checked(who, network)
        self._is_closed = False
        # Threads do not live on in a fork.
        self._by_process = {os.getpid(): self._new_thread()}

    @property
    def network(self) -> Network[Any]:
        """What answers requests that come now."""
        return self._network

    def output(self, features: Any, *, features_mask: Any = None) -> Any:
        """Predict, as the network's own ``output`` does; for any number of threads.

        Parameters
        ----------
        features : ndarray, or list of them for several inputs
            One or more examples, in the data format of the inputs.
        features_mask : ndarray, or list of (ndarray or None), optional
            (batch, time); 1 keeps, 0 drops.

        Returns
        -------
        ndarray, or list of them for several outputs
            New arrays in the data format, in the units of the labels.

        Raises
        ------
        ShapeError, DataError
            If features or masks do not fit, or hold numbers that are not finite. Other
            callers do not notice.
        OptionError
            If it was closed.
        """
        network = self._network
        outputs = self._outputs(network, features, features_mask)
        return outputs if network.n_outputs > 1 else outputs[0]

    def predict(self, features: Any, *, features_mask: Any = None) -> Any:
        """Predict classes, choices or values, as the network's own ``predict`` does.

        Parameters, errors and notes are those of :meth:`output`. Names of classes are
        those of the network that gave the output.

        Returns
        -------
        ndarray, or list of them for several outputs
        """
        network = self._network
        found = predicted(network, self._outputs(network, features, features_mask))
        return found if network.n_outputs > 1 else found[0]

    def update_model(self, network: Network[Any]) -> None:
        """Let another network answer from now on; DL4J's updateModel.

        Nobody waits and nothing is lost: what has come before is answered by the
        network that was there then. The new one may take other data.

        Parameters
        ----------
        network : MultiLayerNetwork or ComputationGraph
            Not copied.
        """
        if self._is_closed:
            raise closed(type(self).__name__)
        self._network = _checked(f"{type(self).__name__}.update_model", network)

    def close(self) -> None:
        """Answer what has come, and end the thread. Later requests are refused."""
        self._is_closed = True
        thread = self._by_process.get(os.getpid())
        if thread is not None:
            thread.close()

    def __enter__(self) -> "ParallelInference":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _outputs(
        self, network: Network[Any], features: Any, features_mask: Any
    ) -> list[Any]:
        if self._is_closed:
            raise closed(type(self).__name__)
        request = Request(network, features, features_mask)
        if self._mode == INPLACE:
            request.compute()
            return request.result()
        self._thread().put(request)
        return request.wait()

    def _thread(self) -> BatchingThread:
        thread = self._by_process.get(os.getpid())
        if thread is not None:
            return thread
        # Of threads that come here at one time all get the same.
        return self._by_process.setdefault(os.getpid(), self._new_thread())

    def _new_thread(self) -> BatchingThread:
        return BatchingThread(type(self).__name__, self._most_rows, self._queue_limit)


def _checked(who: str, network: Any) -> Network[Any]:
    check_type(who, "network", network, Network)
    checked: Network[Any] = network
    return checked

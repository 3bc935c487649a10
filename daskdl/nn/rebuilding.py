"""Networks out of what they are pickled as."""

from typing import Any, TypeVar

from daskdl.arrays.namespace import FloatArray
from daskdl.data.normalizers.normalizer import Normalizer

N = TypeVar("N")


def rebuilt(
    kind: type[N],
    conf: Any,
    params: FloatArray,
    updater_state: FloatArray | None,
    values: dict[str, Any],
    normalizer: Normalizer | None,
) -> N:
    """Return a network of a kind.

    Parameters
    ----------
    kind : type
        Of the network.
    conf : MultiLayerConfiguration or ComputationGraphConfiguration
    params : ndarray of shape (n_params,)
    updater_state : ndarray of shape (n_state,), optional
        None for updaters that begin anew.
    values : dict
        Counters and names, by the attributes that they are.
    normalizer : Normalizer or None
    """
    network: Any = kind(conf, params, updater_state=updater_state)  # type: ignore[call-arg]
    network.restore_normalizer(normalizer)
    for name, value in values.items():
        setattr(network, name, value)
    rebuilt_network: N = network
    return rebuilt_network

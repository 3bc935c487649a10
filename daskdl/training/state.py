"""A network as plain values, which travel to workers and back; or a layer of one."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from daskdl.arrays.namespace import FloatArray, to_device, to_host
from daskdl.data.normalizers.normalizer import Normalizer
from daskdl.nn.build import build_network
from daskdl.nn.conf.network import configuration_from_dict
from daskdl.nn.fitting.trained import Trained, layer_of, network_of
from daskdl.nn.network import Network
from daskdl.training.registered_kinds import packed_kinds, unpack_kinds


@dataclass(frozen=True, kw_only=True)
class NetworkState:
    """A network as values: enough to go on training exactly where it stands.

    Attributes
    ----------
    configuration : dict
        The configuration as plain values.
    params, updater_state : ndarray of shape (n,), (m,)
        Copies of the flat vectors, on the host. With `layer` the updater state is that
        of its pretraining.
    iteration_count, epoch_count : int
        The counters, which schedules and Adam depend on; with `layer` likewise.
    score : float
        Score of the last minibatch.
    normalizer : Normalizer or None
        What the network applies to its data.
    class_names : tuple of str, or None
        What its classes are called.
    threshold : float
        Where the threshold of gradient sharing stands; NaN if nothing was shared.
    velocity : ndarray of shape (n,), or None
        Where the outer momentum of averaging leads.
    kinds : bytes
        The registered kinds that it is made of, besides the package's own.
    layer : str or None
        The layer that is pretrained.
    """

    configuration: dict[str, Any]
    params: FloatArray
    updater_state: FloatArray
    iteration_count: int
    epoch_count: int
    score: float
    normalizer: Normalizer | None = None
    class_names: tuple[str, ...] | None = None
    threshold: float = math.nan
    velocity: FloatArray | None = None
    kinds: bytes = b""
    layer: str | None = None


def state_of(
    trained: Trained,
    threshold: float = math.nan,
    velocity: FloatArray | None = None,
) -> NetworkState:
    """Return a copy of all that a network, or a layer's pretraining, needs to go on."""
    network = network_of(trained)
    configuration = network.conf.to_dict()
    return NetworkState(
        configuration=configuration,
        params=to_host(network.params).copy(),
        updater_state=to_host(trained.updater_state).copy(),
        iteration_count=trained.iteration_count,
        epoch_count=trained.epoch_count,
        score=trained.score,
        normalizer=network.normalizer,
        class_names=network.class_names,
        threshold=threshold,
        velocity=velocity,
        kinds=packed_kinds(configuration),
        layer=layer_of(trained),
    )


def network_from_state(state: NetworkState) -> Network[Any]:
    """Return a new network that stands where `state` was taken."""
    return network_of(trained_from_state(state))


def trained_from_state(state: NetworkState) -> Trained:
    """Return the same, or the layer of it that is pretrained."""
    unpack_kinds(state.kinds)
    conf = configuration_from_dict(state.configuration)
    network = build_network(conf, is_drawn=False)
    network.restore_normalizer(state.normalizer)
    network.class_names = state.class_names
    trained: Trained = network
    if state.layer is not None:
        trained = network.pretraining.layer("Session", state.layer)
    load_state(trained, state)
    return trained


def load_state(trained: Trained, state: NetworkState) -> None:
    """Overwrite the vectors and counters of `trained`, through its views.

    Its normalizer stays: training does not change it.
    """
    params = network_of(trained).params
    params[...] = to_device(state.params, params)
    trained.updater_state[...] = to_device(state.updater_state, trained.updater_state)
    trained.iteration_count = state.iteration_count
    trained.epoch_count = state.epoch_count
    trained.score = state.score


def differs(trained: Trained, state: NetworkState) -> bool:
    """Whether parameters or updater state of `trained` are not those of `state`."""
    pairs = (
        (network_of(trained).params, state.params),
        (trained.updater_state, state.updater_state),
    )
    return not all(np.array_equal(to_host(mine), theirs) for mine, theirs in pairs)

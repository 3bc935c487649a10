"""Have a local cluster start again the workers that it should have."""

import logging

from distributed import Client, LocalCluster
from distributed.core import Status

logger = logging.getLogger(__name__)


def start_missing_again(client: Client) -> None:
    """Ask the client's cluster for the workers that it lacks of those it should have.

    A nanny starts its worker again, but gives up if that dies while it starts. The
    cluster takes both from its list after ``distributed.deploy.lost-worker-timeout``,
    and looks what is missing when it is scaled, to whatever number. One whose worker
    never came stays on the list: it is taken off here.

    Parameters
    ----------
    client : Client
        Of any cluster. Only a local one counts in workers: others have jobs or pods,
        and means of their own.
    """
    cluster = client.cluster
    if isinstance(cluster, LocalCluster):
        cluster.loop.add_callback(_start_missing, cluster)


def _start_missing(cluster: LocalCluster) -> None:
    for name, nanny in list(cluster.workers.items()):
        if nanny.status in (Status.failed, Status.closed):
            del cluster.workers[name]
            if name in cluster.worker_spec:
                # Dask's log of a cluster that a command starts is silent.
                logger.warning(
                    "a worker on this machine died as it started: another is started"
                )
    cluster.scale(len(cluster.worker_spec))

"""Have a local cluster start again the workers that it should have."""

from distributed import Client, LocalCluster
from distributed.core import Status


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
    cluster.scale(len(cluster.worker_spec))

"""Where partitions lie: on the workers that hold what is persisted of them."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence

from distributed import Client

from daskdl.data.plan import Minibatch
from daskdl.data.sources.partition import Partition

__all__ = ["deal_at_home", "homes_of"]


def homes_of(
    client: Client, partitions: Sequence[Partition], addresses: Mapping[int, str]
) -> dict[int, int]:
    """Return the member that holds most of each partition, of those that any holds.

    Parameters
    ----------
    client : Client
        A synchronous client.
    partitions : sequence of Partition
    addresses : mapping of int to str
        Of the members, by rank.

    Returns
    -------
    dict of int to int
        Ranks, by the numbers of partitions.
    """
    keys = {number: one.held_keys() for number, one in enumerate(partitions)}
    asked = list({key for held in keys.values() for key in held})
    if not asked:
        return {}
    holders: Mapping[Hashable, Iterable[str]] = client.sync(
        client.scheduler.who_has, keys=asked
    )
    ranks = {address: rank for rank, address in sorted(addresses.items())}
    homes = {}
    for number, held in keys.items():
        there = (ranks.get(a) for key in held for a in sorted(holders.get(key, ())))
        found = Counter(rank for rank in there if rank is not None).most_common(1)
        if found:
            homes[number] = found[0][0]
    return homes


def deal_at_home(
    minibatches: Sequence[Minibatch], homes: Mapping[int, int], ranks: Sequence[int]
) -> dict[int, list[Minibatch]]:
    """Deal whole partitions: each to the member where it lies.

    Parameters
    ----------
    minibatches : sequence of Minibatch
        Of an epoch, in the order of training. One of several partitions goes with the
        first of them.
    homes : mapping of int to int
        Ranks, by the numbers of partitions. A partition that lies nowhere goes to who
        has least when it is dealt.
    ranks : sequence of int

    Returns
    -------
    dict of int to list of Minibatch
        By rank, in the same order.
    """
    parts: dict[int, list[Minibatch]] = {}
    for minibatch in minibatches:
        parts.setdefault(minibatch.pieces[0].partition, []).append(minibatch)
    owners = {part: homes[part] for part in parts if homes.get(part) in ranks}
    counts = Counter(dict.fromkeys(ranks, 0))
    for part, owner in owners.items():
        counts[owner] += len(parts[part])
    for part in sorted(parts.keys() - owners.keys()):
        owners[part] = min(ranks, key=lambda rank: (counts[rank], rank))
        counts[owners[part]] += len(parts[part])
    shares: dict[int, list[Minibatch]] = {rank: [] for rank in ranks}
    for minibatch in minibatches:
        shares[owners[minibatch.pieces[0].partition]].append(minibatch)
    return shares

"""In which order the vertices of a graph are computed."""

from collections.abc import Iterable, Mapping, Sequence

from daskdl.nn.conf.errors import PathError, got, shortened, some_of

_MOST_NAMES = 20


def topological_order(
    inputs: Iterable[str], reads: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return the vertices so that each comes behind all that it reads.

    Parameters
    ----------
    inputs : iterable of str
        Network inputs, in their order.
    reads : mapping of str to sequence of str
        For each vertex, in the order of definition, the names it reads.

    Raises
    ------
    OptionError
        If some vertices form a cycle.
    """
    waiting = {name: set(sources) for name, sources in reads.items()}
    readers: dict[str, list[str]] = {}
    for name, sources in waiting.items():
        for source in sources:
            readers.setdefault(source, []).append(name)
    queue = [*inputs]
    order: list[str] = []
    for done in queue:
        for name in readers.get(done, ()):
            waiting[name].remove(done)
            if not waiting[name]:
                queue.append(name)
                order.append(name)
    if len(order) < len(waiting):
        cycle = _find_cycle({n: s for n, s in waiting.items() if s})
        if len(cycle) > _MOST_NAMES:
            cycle[_MOST_NAMES - 1 : -1] = ["..."]
        raise PathError(
            "must not form a cycle, got " + " -> ".join(map(shortened, cycle)) + ".",
            "vertices",
        )
    return order


def checked_order(
    order: Sequence[str], inputs: Iterable[str], reads: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return the vertices of a given order; refuse what is no order of the graph."""
    known = [*inputs, *reads]
    if sorted(order) != sorted(known):
        odd = [name for name in known if name not in order]
        odd += [name for name in order if name not in known or order.count(name) > 1]
        raise PathError(
            f"must name every input and vertex once, got something else at "
            f"{some_of(dict.fromkeys(odd))}.",
            "order",
        )
    done: set[str] = set()
    for name in order:
        late = [source for source in reads.get(name, ()) if source not in done]
        if late:
            raise PathError(
                f"must have {got(name)} behind all that it reads, got it in front of "
                f"{some_of(late)}.",
                "order",
            )
        done.add(name)
    return [name for name in order if name in reads]


def _find_cycle(waiting: Mapping[str, set[str]]) -> list[str]:
    path = [next(iter(waiting))]
    while True:
        # Every vertex that still waits does so for another that still waits.
        following = min(name for name in waiting[path[-1]] if name in waiting)
        if following in path:
            return [*path[path.index(following) :], following][::-1]
        path.append(following)

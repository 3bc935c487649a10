"""The tree of members: its shape, and that every update comes to everybody once."""

import random

import pytest

from daskdl.cluster.masters.tree import Tree
from daskdl.errors import OptionError
from tests.unit.cluster.tree_world import TreeWorld


def ended(world):
    """Hold the ends of all survivors against each other; return the base."""
    survivors = world.survivors
    bases = {world.replicas[rank].in_base for rank in survivors}
    assert [rank for rank in survivors if not world.members[rank].is_over] == []
    assert len(bases) == 1
    return bases.pop()


def random_deaths(rng, n):
    """Up to four deaths: at the start, in the midst or late, of anybody or on top."""
    horizon = rng.choice([5, 4 * n, 30 * n])
    who = [lambda: rng.randrange(n), lambda: rng.randrange(min(n, 10)), lambda: 0]
    n_deaths = rng.randint(0, min(n - 1, 4))
    return [(rng.randrange(horizon), rng.choice(who)()) for _ in range(n_deaths)]


def random_hosts(rng, n, n_hosts):
    """Return the hosts of n members, dealt at random: some may have none."""
    return {rank: f"host {rng.randrange(n_hosts)}" for rank in range(n)}


def expected(world):
    """All updates of survivors; of the others as many as the marks tell."""
    marks = world.members[world.survivors[0]].marks
    n_known = {
        rank: marks[rank].messages if rank in marks else 0 for rank in world.members
    }
    n_known |= {rank: world.to_tell[rank] for rank in world.survivors}
    return {(rank, k) for rank, n in n_known.items() for k in range(1, n + 1)}


# NamedUpdates sees a name that comes twice.
@pytest.mark.parametrize(
    ("n", "fan_out", "n_hosts", "n_runs"),
    [
        (2, 8, 1, 20),
        (9, 8, 1, 150),
        (9, 2, 1, 150),
        (9, 2, 3, 150),
        (9, 1, 4, 100),
        (16, 2, 1, 100),
        (16, 2, 5, 100),
        (64, 8, 1, 10),
        (64, 2, 16, 10),
        (512, 8, 64, 1),
    ],
)
def test_every_update_comes_to_every_survivor_once(n, fan_out, n_hosts, n_runs):
    for seed in range(n_runs):
        rng = random.Random(seed)
        hosts = random_hosts(rng, n, n_hosts)
        world = TreeWorld(n, seed, fan_out=fan_out, hosts=hosts)
        world.run(random_deaths(rng, n))
        assert ended(world) == expected(world)


@pytest.mark.parametrize("passing_on", [0.1, 0.5])
def test_members_may_pass_on_what_they_gathered_at_any_time(passing_on):
    for seed in range(100):
        rng = random.Random(seed)
        world = TreeWorld(9, seed, fan_out=2, passing_on=passing_on)
        world.run(random_deaths(rng, 9))
        assert ended(world) == expected(world)


# Ranks 0, 3, 6, then 1, 4, 7, then 2, 5, 8 are on one host.
THREE_HOSTS = {rank: f"host {rank % 3}" for rank in range(9)}


@pytest.mark.parametrize("rank", range(9))
@pytest.mark.parametrize(
    "how", [{}, {"fan_out": 1, "hosts": THREE_HOSTS}], ids=["one host", "three hosts"]
)
def test_a_member_may_die_at_any_time(rank, how):
    """A phase of nine has about 80 happenings; one more each time, until it is over."""
    for when in range(1, 120, 2):
        world = TreeWorld(9, 1, **how)
        world.run([(when, rank)])
        assert ended(world) == expected(world)


@pytest.mark.parametrize("host", range(3))
def test_a_host_may_go_at_any_time(host):
    """With all members on it, also that of the root, whose next one reigns between."""
    for when in range(1, 120, 2):
        world = TreeWorld(9, 1, fan_out=2, hosts=THREE_HOSTS)
        world.run([(when + n, rank) for n, rank in enumerate(range(host, 9, 3))])
        assert ended(world) == expected(world)


def test_survivors_agree_on_how_far_the_dead_were():
    """So the ledger deals what is in no base again, and only that."""
    for seed in range(50):
        world = TreeWorld(16, seed, fan_out=3)
        world.run([(40, 1), (60, 0)])
        ended(world)
        positions = [world.members[rank].positions for rank in world.survivors]
        assert all(each == positions[0] for each in positions)


def test_the_root_and_its_heirs_may_die_together():
    world = TreeWorld(64, 3)
    world.run([(200, rank) for rank in range(9)])
    assert ended(world) == expected(world)


def test_what_comes_too_early_for_the_next_speaker_is_kept():
    """It is behind who is below it now, as the last one died between the two."""
    hosts = {0: "a", 1: "b", 2: "b", 3: "b"}
    world = TreeWorld(4, 1, hosts=hosts)
    world.members[3].tell(frozenset({(3, 1)}), position=1)
    for source, target in [(3, 1), (1, 0)]:
        world.deliver(source, target)
        world.members[target].pass_on()
    world.deliver(0, 1)
    world.deliver(1, 3)
    world.lose(1, 2)
    world.members[3].tell(frozenset({(3, 2)}), position=2)
    world.kill(1)
    for source, target in [(1, 3), (3, 2)]:
        world.deliver(source, target)
    world.deliver_all()
    for rank in (2, 0):
        world.members[rank].pass_on()
        world.deliver_all()
    assert {world.replicas[rank].in_base for rank in (0, 2, 3)} == {
        frozenset({(3, 1), (3, 2)})
    }


def test_the_last_one_has_its_own_updates():
    world = TreeWorld(9, 1)
    world.run([(20 + rank, rank) for rank in range(8)])
    assert world.survivors == [8]
    assert ended(world) == expected(world)


def test_a_round_of_many_takes_few_messages_of_each():
    """Up and down each line once, and what chance divides; not one to each other."""
    world = TreeWorld(512, 1, most_told=1)
    world.run()
    assert world.sent < 8 * 512


@pytest.mark.parametrize(
    ("n", "fan_out", "n_hosts"),
    [(9, 8, 1), (9, 8, 3), (16, 1, 4), (64, 8, 8), (64, 2, 13)],
)
def test_each_sum_crosses_from_host_to_host_once_up_and_once_down(n, fan_out, n_hosts):
    """So 2 (h - 1) messages for h hosts, if all tell once; the root's is nobody's."""
    for seed in range(10):
        hosts = random_hosts(random.Random(seed), n, n_hosts)
        world = TreeWorld(n, seed, most_told=1, fan_out=fan_out, hosts=hosts)
        world.run()
        assert world.crossed == 2 * (len(set(hosts.values())) - 1)
        assert world.sent == 2 * (n - 1)


@pytest.mark.parametrize("n_gone", range(12))
def test_a_host_has_one_line_to_others_above_it_whoever_is_gone(n_gone):
    rng = random.Random(n_gone)
    hosts = random_hosts(rng, 40, 9)
    tree = Tree(range(40), rng.randint(1, 8), hosts)
    tree.lose(rng.sample(range(40), n_gone))
    above = [hosts[r] for r in tree.alive if hosts.get(tree.parent(r)) != hosts[r]]
    assert sorted(above) == sorted({hosts[rank] for rank in tree.alive})


def test_the_first_rank_of_a_host_speaks_for_it():
    tree = Tree(range(9), 2, THREE_HOSTS)
    assert [tree.parent(rank) for rank in range(9)] == [None, 0, 0, 0, 1, 2, 0, 1, 2]


def test_speakers_and_the_members_of_a_large_host_fill_rows():
    hosts = {rank: "large" if rank < 6 else f"host {rank}" for rank in range(10)}
    tree = Tree(range(10), 2, hosts)
    assert [tree.parent(rank) for rank in (1, 2, 3, 4, 5)] == [0, 0, 1, 1, 2]
    assert [tree.parent(rank) for rank in (6, 7, 8, 9)] == [0, 0, 6, 6]


def test_messages_go_to_other_hosts_first():
    assert Tree(range(9), 2, THREE_HOSTS).children(0) == (1, 2, 3, 6)


def test_the_next_of_its_host_speaks_for_who_is_gone():
    tree = Tree(range(9), 1, THREE_HOSTS)
    tree.lose([1])
    assert (tree.children(0), tree.children(4), tree.parent(2)) == ((4, 3), (2, 7), 4)


def test_a_host_of_which_nobody_is_left_is_bridged():
    tree = Tree(range(9), 1, THREE_HOSTS)
    tree.lose([1, 4, 7])
    assert (tree.children(0), tree.parent(2)) == ((2, 3), 0)


def test_the_next_of_its_host_is_the_root_after_it_and_then_the_next_host():
    """Reigns only grow, as ranks of roots do not."""
    tree = Tree(range(9), 8, THREE_HOSTS)
    roots = [(tree.root, tree.reign)]
    for rank in (0, 3, 6, 1):
        tree.lose([rank])
        roots.append((tree.root, tree.reign))
    assert roots == [(0, 0), (3, 1), (6, 2), (1, 3), (4, 4)]


def test_only_who_lost_its_parent_gets_another_one():
    """The rule of members counts on it: whoever gets another one tells it all again."""
    for seed in range(30):
        rng = random.Random(seed)
        tree = Tree(range(40), rng.randint(1, 4), random_hosts(rng, 40, 9))
        for rank in rng.sample(range(40), 35):
            before = {other: tree.parent(other) for other in tree.alive}
            tree.lose([rank])
            changed = {r for r in tree.alive if tree.parent(r) != before[r]}
            assert {before[r] for r in changed} <= {rank}


def test_members_come_behind_those_above_them():
    for seed in range(30):
        rng = random.Random(seed)
        tree = Tree(range(40), rng.randint(1, 4), random_hosts(rng, 40, 9))
        tree.lose(rng.sample(range(40), 20))
        places = {rank: place for place, rank in enumerate(tree.alive)}
        places[None] = -1
        assert all(places[tree.parent(rank)] < places[rank] for rank in tree.alive)


def test_rows_are_filled_in_the_order_of_ranks():
    tree = Tree(range(20), 3)
    assert [tree.parent(rank) for rank in (0, 1, 3, 4, 12, 13)] == [None, 0, 0, 1, 3, 4]


def test_ranks_need_not_follow_each_other():
    tree = Tree([7, 3, 20], 2)
    assert (tree.root, tree.children(3), tree.parent(20)) == (3, (7, 20), 3)


def test_the_member_above_bridges_who_is_gone():
    tree = Tree(range(20), 3)
    tree.lose([1])
    assert set(tree.children(0)) == {2, 3, 4, 5, 6}


def test_the_first_that_is_alive_adopts_who_has_nobody_above():
    tree = Tree(range(20), 3)
    tree.lose([0, 2])
    assert tree.root == 1
    assert tree.children(1) == (3, 4, 5, 6, 7, 8, 9)


@pytest.mark.parametrize("n_gone", range(12))
def test_parents_and_children_agree(n_gone):
    rng = random.Random(n_gone)
    n_hosts = rng.choice([1, 6])
    tree = Tree(range(40), rng.randint(1, 8), random_hosts(rng, 40, n_hosts))
    tree.lose(rng.sample(range(40), n_gone))
    of_parents = {(tree.parent(rank), rank) for rank in tree.alive} - {
        (None, tree.root)
    }
    of_children = {
        (rank, child) for rank in tree.alive for child in tree.children(rank)
    }
    assert of_parents == of_children
    assert {*tree.below(tree.root), tree.root} == set(tree.alive)


def test_a_member_reaches_another_one_through_a_child_or_its_parent():
    tree = Tree(range(20), 3)
    assert [tree.neighbour(1, other) for other in (4, 13, 0, 2)] == [4, 4, 0, 0]


def test_a_member_that_is_bridged_is_nobodys_neighbour():
    tree = Tree(range(20), 3)
    tree.lose([4])
    assert [tree.neighbour(1, 13), tree.neighbour(13, 0)] == [13, 1]


def ending(n, *, fan_out, told):
    """Members of a phase in which some tell their last update; the others hang."""
    world = TreeWorld(n, 1, fan_out=fan_out)
    for rank in told:
        world.members[rank].tell(None, position=1, ends=True)
    for rank in [*told] * n:
        world.members[rank].pass_on()
        world.deliver_all(to=told)
    return world.members


def blamed(member):
    return member.at_fault(member.awaited)


def test_whoever_waits_blames_the_neighbour_that_has_not_ended():
    """In a chain: nobody hears those behind the silent one, and they hear nobody."""
    members = ending(5, fan_out=1, told=[0, 1, 3, 4])
    assert [blamed(members[rank]) for rank in (1, 3)] == [{2}, {2}]


def test_whoever_is_in_order_with_its_neighbours_blames_who_is_missing():
    members = ending(5, fan_out=2, told=[0, 2, 3, 4])
    assert blamed(members[2]) == {1, 3, 4}


def test_nobody_is_awaited_when_the_phase_is_over():
    members = ending(5, fan_out=2, told=range(5))
    assert [members[rank].awaited for rank in range(5)] == [frozenset()] * 5


def test_a_new_root_waits_for_the_base_of_the_furthest():
    """It ends the phase with the others' updates, which that base has."""
    world = TreeWorld(3, 1, fan_out=2)
    for rank, member in world.members.items():
        member.tell(frozenset({(rank, 1)}), position=1, ends=True)
    for rank in (1, 2):
        world.deliver(rank, 0)
    world.deliver(0, 2)
    world.lose(0, 1)
    for rank in (2, 1):
        world.members[rank].left([0])
    heir = world.members[1]
    world.deliver(2, 1)
    assert heir.awaited == {2}
    world.deliver(1, 2)
    world.deliver(2, 1)
    assert heir.is_over
    assert world.replicas[1].in_base == {(0, 1), (1, 1), (2, 1)}


def test_whoever_is_behind_a_slow_member_is_as_slow():
    world = TreeWorld(7, 1, fan_out=2)
    for rank, member in world.members.items():
        member.tell(None, position=1, ends=True, step_s=4.0 if rank == 1 else 1.0)
    world.deliver_all()
    of_leaf_below_it, of_leaf_elsewhere = (
        world.members[rank].slowest_ways() for rank in (3, 5)
    )
    assert set(of_leaf_below_it.values()) == {4.0}
    assert of_leaf_elsewhere == {0: 1.0, 1: 4.0, 2: 1.0, 3: 4.0, 4: 4.0, 6: 1.0}


def test_fan_out_must_be_a_count():
    with pytest.raises(OptionError, match="Tree: fan_out must be"):
        Tree(range(3), 0)

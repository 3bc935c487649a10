"""Processes that are asked, and those that do not answer."""

import os
import sys
import textwrap

import pytest

from benchmarks.child import Child, PeerError
from benchmarks.rounds import Contender, Pace, measure

ECHO = """
    import json, sys
    print("chatter")
    print(json.dumps({"versions": {}, "offers": [["lenet", "fit", ""]]}), flush=True)
    for line in sys.stdin:
        print(json.dumps(%s), flush=True)
"""
ANSWER = '{"wall_ms": 2.0, "cpu_ms": 1.0, "calls": 3, "facts": {}}'


def child(program, **options):
    command = [sys.executable, "-S", "-c", textwrap.dedent(program)]
    cores = os.sched_getaffinity(0)
    return Child(command, env=dict(os.environ), cores=cores, **options)


def test_a_line_is_answered():
    with child(ECHO % '{"line": line}') as echo:
        assert echo.ask("lenet fit 0 ", 5.0) == {"line": "lenet fit 0 \n"}


def test_an_error_is_not_the_end():
    with child(ECHO % '{"error": "no such net"}') as echo:
        for _ in range(2):
            with pytest.raises(PeerError, match="no such net"):
                echo.ask("lenet fit 0 ", 5.0)


def test_a_program_that_does_not_exist_is_told():
    with pytest.raises(PeerError, match=r"cannot be started: .*nowhere"):
        Child(["/nowhere"], env={}, cores=os.sched_getaffinity(0))


def test_the_last_words_of_one_that_dies_are_told():
    with pytest.raises(PeerError, match="ended with code 3: alas"):
        child("import sys; print('alas', file=sys.stderr); sys.exit(3)")


def test_one_that_does_not_answer_is_ended():
    with pytest.raises(PeerError, match=r"did not answer within 0\.2 s"):
        child("import time; time.sleep(60)", start_timeout_s=0.2)


def test_no_process_stays():
    with child(ECHO % ANSWER) as echo:
        pid = echo.pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_an_error_outside_ends_the_process():
    with pytest.raises(KeyboardInterrupt), child(ECHO % ANSWER) as echo:
        raise KeyboardInterrupt
    with pytest.raises(ProcessLookupError):
        os.kill(echo.pid, 0)


def test_peers_take_turns():
    with child(ECHO % ANSWER) as one, child(ECHO % ANSWER) as other:
        children = {"daskdl": one, "torch": other}
        result = measure(children, "lenet", "fit", Pace(3, 0.0, 0.0))
    assert {form: len(turns) for form, turns in result.turns.items()} == {
        Contender("daskdl"): 3,
        Contender("torch"): 3,
    }


def test_the_turns_of_a_peer_that_dies_do_not_count():
    dies = ECHO % ANSWER + "        sys.exit(4)\n"
    with child(ECHO % ANSWER) as one, child(dies) as other:
        children = {"daskdl": one, "torch": other}
        result = measure(children, "lenet", "fit", Pace(2, 0.0, 0.0))
    assert list(result.turns) == [Contender("daskdl")]
    assert "ended with code 4" in result.failures["torch"]


def test_a_peer_is_not_asked_for_what_it_does_not_offer():
    with child(ECHO % ANSWER) as one:
        result = measure({"daskdl": one}, "mlp", "fit", Pace(2, 0.0, 0.0))
    assert result.turns == {}

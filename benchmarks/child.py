"""A process that times a peer, and answers one line to each line it is sent."""

import json
import os
import selectors
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from benchmarks.machine import pinned

_LAST_CHARACTERS = 400
_GRACE_S = 5.0


class PeerError(RuntimeError):
    """A peer did not start, died, or took too long; the message says which."""


class Child:
    """A process that speaks the protocol of :mod:`benchmarks.serve.loop`.

    Parameters
    ----------
    command : sequence of str
        What to start.
    env : mapping of str to str
        Its whole environment.
    cores : set of int
        What it may run on.
    start_timeout_s : float
        How long it may take to its first line.

    Attributes
    ----------
    greeting : dict
        Its first line: versions, and what it offers.

    Raises
    ------
    PeerError
        If it does not say in time what it offers.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        cores: set[int],
        start_timeout_s: float = 120.0,
    ) -> None:
        self._unread = b""
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the child
        try:
            with pinned(cores):
                self._process = subprocess.Popen(
                    list(command),
                    env=dict(env),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._messages,
                )
        except OSError as error:
            self._messages.close()
            raise PeerError(f"cannot be started: {error}") from error
        try:
            self.greeting = self._read(start_timeout_s)
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def ask(self, line: str, timeout_s: float) -> dict[str, Any]:
        """Send a line and return the answer.

        Raises
        ------
        PeerError
            If the process dies, does not answer in time, or cannot do it.
        """
        stdin = self._process.stdin
        if stdin is None:
            raise PeerError("has no standard input")
        try:
            stdin.write(line.encode() + b"\n")
            stdin.flush()
        except OSError as error:
            raise PeerError(self._last_words()) from error
        answer = self._read(timeout_s)
        if "error" in answer:
            raise PeerError(answer["error"])
        return answer

    def close(self) -> None:
        """End the process, by force if need be, and wait for it."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    # It died with a line unread.
                    continue
        try:
            self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        finally:
            self._messages.close()

    def __enter__(self) -> "Child":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            # Nobody waits for what it is at.
            self._process.kill()
        self.close()

    def _read(self, timeout_s: float) -> dict[str, Any]:
        """Return the next line that is JSON; others are chatter of libraries."""
        deadline = time.monotonic() + timeout_s
        while True:
            line, newline, rest = self._unread.partition(b"\n")
            if newline:
                self._unread = rest
                if line.startswith(b"{"):
                    answer: dict[str, Any] = json.loads(line)
                    return answer
            else:
                self._receive(deadline - time.monotonic(), timeout_s)

    def _receive(self, wait_s: float, timeout_s: float) -> None:
        stdout = self._process.stdout
        if stdout is None:
            raise PeerError("has no standard output")
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            if wait_s <= 0 or not selector.select(wait_s):
                self._process.kill()
                raise PeerError(f"did not answer within {timeout_s:g} s")
        received = os.read(stdout.fileno(), 1 << 16)
        if not received:
            raise PeerError(self._last_words())
        self._unread += received

    def _last_words(self) -> str:
        try:
            code = self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            code = None
        self._messages.seek(0)
        lines = self._messages.read().decode(errors="replace").strip().splitlines()
        said = lines[-1][-_LAST_CHARACTERS:] if lines else "said nothing"
        return f"ended with code {code}: {said}"

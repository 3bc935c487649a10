"""The way from a thread into the event loop."""

import asyncio

import pytest

from daskdl.cluster.bus.event_loop import EventLoop
from daskdl.errors import BusClosedError, ClusterError, StepTimeoutError


async def made_on_a_loop() -> EventLoop:
    return EventLoop()


async def wait_for_ever():
    await asyncio.Event().wait()


@pytest.mark.asyncio
async def test_result_comes_back_to_the_thread():
    async def answer():
        return 42

    loop = EventLoop()
    assert await asyncio.to_thread(loop.run, answer, timeout_s=5) == 42


@pytest.mark.asyncio
async def test_own_thread_is_refused():
    with pytest.raises(ClusterError, match="got the worker's event loop"):
        EventLoop().run(wait_for_ever, timeout_s=5)


@pytest.mark.asyncio
async def test_coroutine_that_takes_too_long_is_cancelled():
    cancelled = asyncio.Event()

    async def slow():
        try:
            await wait_for_ever()
        finally:
            cancelled.set()

    with pytest.raises(StepTimeoutError, match=r"must answer within 0\.01 s"):
        await asyncio.to_thread(EventLoop().run, slow, timeout_s=0.01)
    await asyncio.wait_for(cancelled.wait(), 5)


@pytest.mark.asyncio
async def test_time_out_of_the_coroutine_itself_is_passed_on():
    async def fail():
        raise StepTimeoutError("mine")

    with pytest.raises(StepTimeoutError, match="mine"):
        await asyncio.to_thread(EventLoop().run, fail, timeout_s=5)


@pytest.mark.asyncio
async def test_cancelled_coroutine_means_that_the_worker_stops():
    async def give_up():
        raise asyncio.CancelledError

    with pytest.raises(BusClosedError, match="it stops"):
        await asyncio.to_thread(EventLoop().run, give_up, timeout_s=5)


def test_stopped_loop_is_refused():
    loop = asyncio.run(made_on_a_loop())
    with pytest.raises(BusClosedError, match="it has stopped"):
        asyncio.run(asyncio.to_thread(loop.run, wait_for_ever, timeout_s=5))


def test_call_to_a_stopped_loop_is_dropped():
    called = []
    asyncio.run(made_on_a_loop()).call_soon(lambda: called.append(1))
    assert called == []

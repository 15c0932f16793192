"""Connections are read in large pieces."""

from __future__ import annotations

import os
from typing import Any

import pytest
from conftest import Agent

from agent_files._async import wide_reads
from agent_files._runtime.asynchronous import READ_BYTES
from agent_files._runtime.blocking import READ_BYTES as BLOCKING_READ_BYTES
from agent_files._sync import wide_reads as sync_wide_reads


class Connection:
    """Gives as much as it may, of `waiting` bytes."""

    def __init__(self, waiting: int, max_size: int) -> None:
        self.waiting, self.asked = waiting, []
        self._stream = self._transport = self
        self.max_size = max_size

    def _read(self, most: int) -> bytes:
        self.asked.append(most)
        size = min(self.waiting, self.max_size, most)
        self.waiting -= size
        return bytes(size)


class AsyncConnection(Connection):
    async def read(self, most: int, timeout: float | None) -> bytes:
        assert timeout == 3
        return self._read(most)


class BlockingConnection(Connection):
    def read(self, most: int, timeout: float | None) -> bytes:
        assert timeout == 3
        return self._read(most)


@pytest.mark.anyio
async def test_an_event_loop_is_asked_for_more_and_may_give_more_once_it_gave_all_it_may() -> None:
    inner: Any = AsyncConnection(1000 + 3 * READ_BYTES, 1000)
    stream = wide_reads._WideStream(inner)
    sizes = [len(await stream.read(65536, 3)) for _ in range(3)]
    assert sizes == [1000, READ_BYTES, READ_BYTES]
    assert inner.asked == [READ_BYTES] * 3
    assert len(await stream.read(2 * READ_BYTES, 3)) == READ_BYTES
    assert inner.asked[-1] == 2 * READ_BYTES


@pytest.mark.anyio
async def test_an_event_loop_that_gave_less_stays_as_it_is() -> None:
    inner: Any = AsyncConnection(999, 1000)
    assert len(await wide_reads._WideStream(inner).read(65536, 3)) == 999
    assert inner.max_size == 1000


def test_a_thread_asks_for_more() -> None:
    inner: Any = BlockingConnection(10 * BLOCKING_READ_BYTES, 10 * BLOCKING_READ_BYTES)
    stream = sync_wide_reads._WideStream(inner)
    assert len(stream.read(65536, 3)) == BLOCKING_READ_BYTES
    assert len(stream.read(2 * BLOCKING_READ_BYTES, 3)) == 2 * BLOCKING_READ_BYTES


@pytest.mark.anyio
async def test_asyncio_has_what_is_changed(planner: Agent, anyio_backend: str) -> None:
    async with planner.async_files() as files:
        http = files._connection.http
        async with http.stream("GET", os.environ["URL"], {}, None, 60) as answer:
            stream: Any = answer.extensions["network_stream"]
        assert isinstance(stream, wide_reads._WideStream)
        if anyio_backend == "asyncio":
            assert 0 < stream._inner._stream._transport.max_size < READ_BYTES


def test_connections_of_threads_are_wide(planner: Agent) -> None:
    with planner.files() as files:
        http = files._connection.http
        with http.stream("GET", os.environ["URL"], {}, None, 60) as answer:
            stream = answer.extensions["network_stream"]
        assert isinstance(stream, sync_wide_reads._WideStream)

"""The asynchronous client's downloads: one chunk is written while the next one is received."""

from __future__ import annotations

import asyncio
import io
import os
import threading
from typing import Any

import anyio
import pytest
from conftest import Agent
from test_asynchronous import requests_of

from agent_files import AgentError
from agent_files._async import download

SIZE = 5_000_000
WRITE, DOWNLOAD = download._write, download.download


class Writer:
    """Writes only when it may. Counts the writes that are not over."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.may, self.has_begun = threading.Event(), threading.Event()
        self.running, self.files = 0, []
        monkeypatch.setattr(download, "_write", self.write)

    def write(self, file: Any, *args: Any) -> None:
        self.running += 1
        self.files.append(file)
        self.has_begun.set()
        assert self.may.wait(30)
        # Fails if somebody has closed the file.
        WRITE(file, *args)
        self.running -= 1

    async def begun(self) -> None:
        with anyio.fail_after(30):
            while not self.has_begun.is_set():
                await anyio.sleep(0.01)

    def assert_over(self) -> None:
        assert self.running == 0
        assert all(file.closed for file in self.files)


@pytest.mark.anyio
async def test_a_chunk_is_received_while_the_last_one_is_written(
    planner: Agent, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, ahead = Writer(monkeypatch), []

    async def counted(*args: Any) -> Any:
        number = 0
        async for chunk in DOWNLOAD(*args):
            number += 1
            ahead.append(number - len(writer.files))
            if number == 2:
                assert not writer.may.is_set()
                writer.may.set()
            yield chunk

    monkeypatch.setattr(download, "download", counted)
    content = os.urandom(SIZE)
    async with planner.async_files() as files:
        await files.put("plan", content)
        with anyio.fail_after(25):
            await files.get("plan", tmp_path / "plan")
    assert (tmp_path / "plan").read_bytes() == content
    # The received one, and one that may wait for a thread.
    assert max(ahead) <= 2
    writer.assert_over()


@pytest.mark.anyio
async def test_a_get_that_is_cancelled_during_a_write_leaves_no_file_and_no_writer(
    planner: Agent, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = Writer(monkeypatch)
    async with planner.async_files() as files:
        await files.put("plan", bytes(SIZE))
        is_over = False

        async def get() -> None:
            nonlocal is_over
            try:
                await files.get("plan", tmp_path / "plan")
            finally:
                is_over = True

        async with anyio.create_task_group() as group:
            group.start_soon(get)
            await writer.begun()
            group.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                for _ in range(10):
                    await anyio.sleep(0.01)
                assert not is_over
                writer.may.set()
        assert is_over
        writer.assert_over()
        assert os.listdir(tmp_path) == []
        assert requests_of(files) == 0
        monkeypatch.undo()
        await files.get("plan", tmp_path / "plan")


def test_a_cancelled_task_of_asyncio(
    planner: Agent, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = Writer(monkeypatch)

    async def act() -> None:
        async with planner.async_files() as files:
            await files.put("plan", bytes(SIZE))
            task = asyncio.create_task(files.get("plan", tmp_path / "plan"))
            await writer.begun()
            task.cancel()
            asyncio.get_running_loop().call_later(0.1, writer.may.set)
            with pytest.raises(asyncio.CancelledError):
                await task
            writer.assert_over()
            assert requests_of(files) == 0

    asyncio.run(act())
    assert os.listdir(tmp_path) == []


@pytest.mark.anyio
@pytest.mark.parametrize("size", [10, SIZE])
async def test_a_full_disk_is_told(planner: Agent, size: int) -> None:
    async with planner.async_files() as files:
        await files.put("plan", bytes(size))
        with (
            open("/dev/full", "wb", buffering=0) as full,
            pytest.raises(AgentError, match="No space left on device") as refused,
        ):
            await files.get("plan", full)
        assert (refused.value.code, refused.value.retryable) == ("target_unwritable", False)
        assert requests_of(files) == 0


@pytest.mark.anyio
async def test_a_write_that_fails_during_a_pause_is_told_at_once(
    planner: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = 0

    async def broken(*args: Any) -> Any:
        nonlocal attempts
        attempts += 1
        if attempts == 1:
            yield bytes(10)
        raise AgentError("network_error", "broken", retryable=True)

    class Full(io.BytesIO):
        def write(self, *args: Any) -> int:
            raise OSError(28, "No space left on device")

    async with planner.async_files() as files:
        await files.put("plan", bytes(SIZE))
        monkeypatch.setattr(download, "download", broken)
        with anyio.fail_after(20), pytest.raises(AgentError) as refused:
            await files.get("plan", Full())
        assert (refused.value.code, attempts) == ("target_unwritable", 1)


@pytest.mark.anyio
@pytest.mark.parametrize("wrong", [b"x" * SIZE, b"x" * (SIZE + 1)])
async def test_wrong_bytes_leave_no_file(
    planner: Agent, tmp_path, monkeypatch: pytest.MonkeyPatch, wrong: bytes
) -> None:
    async def changed(*args: Any) -> Any:
        for start in range(0, len(wrong), 1024**2):
            yield wrong[start : start + 1024**2]

    async with planner.async_files() as files:
        await files.put("plan", bytes(SIZE))
        monkeypatch.setattr(download, "download", changed)
        with pytest.raises(AgentError) as refused:
            await files.get("plan", tmp_path / "plan")
        assert refused.value.code == "download_mismatch"
        assert os.listdir(tmp_path) == []


@pytest.mark.anyio
async def test_an_error_of_on_progress_is_raised_as_it_is(planner: Agent, tmp_path) -> None:
    def on_progress(*_: Any) -> None:
        raise KeyError("mine")

    async with planner.async_files() as files:
        await files.put("plan", bytes(SIZE))
        with pytest.raises(KeyError, match="mine"):
            await files.get("plan", tmp_path / "plan", on_progress=on_progress)
        assert os.listdir(tmp_path) == []
        assert requests_of(files) == 0

"""The asynchronous client: the same hand-overs, many at once, and nothing held after a
cancellation."""

from __future__ import annotations

import asyncio
import io
import os
from typing import Any

import anyio
import anyio.from_thread
import pytest
from conftest import Agent, new_agent

from agent_files import AgentError, AsyncAgentFiles


def requests_of(files: AsyncAgentFiles) -> int:
    """How many of its connections have a request."""
    clients = files._connection.http._clients.values()
    pools: list[Any] = [client._transport._pool for client in clients]  # type: ignore[attr-defined]
    return sum(not one.is_idle() for pool in pools for one in pool.connections)


@pytest.mark.anyio
async def test_a_hand_over(planner: Agent, builder: Agent, tmp_path) -> None:
    async with planner.async_files() as giver, builder.async_files() as files:
        assert (await giver.whoami())["agent_id"] == planner.id
        content = os.urandom(3_000_000)
        (tmp_path / "big").write_bytes(content)
        (tmp_path / "folder").mkdir()
        (tmp_path / "folder" / "file").write_text("inside")
        phases = set()
        await giver.put("big", path=tmp_path / "big", to=[builder.id], metadata={"n": "1"})
        await giver.put(
            "big", text="newer", to=[builder.id], on_progress=lambda phase, *_: phases.add(phase)
        )
        await giver.put_folder("folder.tar", tmp_path / "folder", to=[builder.id])
        assert phases == {"upload"}
        assert [one["key"] async for one in giver.list()] == ["big", "folder.tar"]
        versions = [one async for one in files.versions("big", agent_id=planner.id)]
        assert [one.get("version") for one in versions] == [2, 1]
        received = io.BytesIO()
        got = await files.get("big", received, from_agent=planner.id, version=1)
        assert received.getvalue() == content
        assert (got.get("version"), got.get("metadata")) == (1, {"n": "1"})
        await files.get("big", tmp_path / "newer", from_agent=planner.id)
        assert (tmp_path / "newer").read_text() == "newer"
        await files.get_folder("folder.tar", tmp_path / "again", from_agent=planner.id)
        assert (tmp_path / "again" / "file").read_text() == "inside"
        types = {event["type"] async for event in giver.events()}
        assert {"artifact.committed", "grant.created"} <= types


@pytest.mark.anyio
async def test_recipients_are_listed_and_unknown_ones_refused(
    planner: Agent, builder: Agent
) -> None:
    async with planner.async_files() as giver, builder.async_files() as files:
        put = await giver.put("plan", text="1", to=[builder.id], known_only=True)
        until = put["grants"][0]["expires_at"]
        given = {"agent_id": builder.id, "given_until": until, "received_until": None}
        assert [one async for one in giver.recipients()] == [given]
        [giving] = [one async for one in files.recipients()]
        assert (giving["agent_id"], giving["received_until"]) == (planner.id, until)
        with pytest.raises(AgentError, match="Nobody of this name has ever been here") as refused:
            await giver.share("plan", f"nobody-of-{planner.id}", known_only=True)
        assert refused.value.code == "invalid_request"
        assert len([one async for one in giver.grants()]) == 1
        grant = await giver.share("plan", f"nobody-of-{planner.id}")
        assert grant.get("unknown_recipient") is True


@pytest.mark.anyio
async def test_a_grant_is_repeated_by_its_key(planner: Agent, builder: Agent) -> None:
    async with planner.async_files() as files:
        await files.put("plan", text="1")
        terms = {"note": "Once.", "idempotency_key": "k-1", "max_attempts": 2}
        first = await files.share("plan", builder.id, **terms)
        again = await files.share("plan", builder.id, **terms)
        assert again["grant_id"] == first["grant_id"]
        with pytest.raises(AgentError) as refused:
            await files.share("plan", builder.id, note="Twice.", idempotency_key="k-1")
        assert refused.value.code == "idempotency_conflict"
        assert len([grant async for grant in files.grants()]) == 1


@pytest.mark.anyio
async def test_twenty_agents_wait_in_one_loop(planner: Agent) -> None:
    agents = [new_agent() for _ in range(20)]
    received: dict[str, str] = {}
    waiting = [agent.async_files() for agent in agents]

    async def wait_for_one(agent: Agent, files: AsyncAgentFiles) -> None:
        async with files:
            async for grant in files.inbox(wait=True, timeout=60):
                await files.get(grant["artifact_id"], io.BytesIO())
                received[agent.id] = grant["key"]
                return

    async with planner.async_files() as giver, anyio.create_task_group() as group:
        for agent, files in zip(agents, waiting, strict=True):
            group.start_soon(wait_for_one, agent, files)
        # All of them wait before the first file is put.
        while not all(files._connection.http._clients for files in waiting):
            await anyio.sleep(0.05)
        for agent in agents:
            await giver.put(f"for {agent.id}", text="1", to=[agent.id])
    assert received == {agent.id: f"for {agent.id}" for agent in agents}


@pytest.mark.anyio
async def test_twenty_agents_answer_tasks_in_one_loop(planner: Agent) -> None:
    """The program of a newcomer, who takes no care of threads and connections."""
    agents = [new_agent() for _ in range(20)]

    async def work(agent: Agent) -> None:
        async with agent.async_files() as files:
            async for task in files.tasks():
                await task.done(reply=(await task.text()).upper())
                break

    async with planner.async_files() as files:
        with anyio.fail_after(90):
            async with anyio.create_task_group() as group:
                for agent in agents:
                    group.start_soon(work, agent)
                for agent in agents:
                    await files.put(f"plans/{agent.id}", text="a house", to=[agent.id])
        replies = {grant["from_agent"]: grant["key"] async for grant in files.inbox()}
        assert replies == {agent.id: f"replies/plans/{agent.id}" for agent in agents}


@pytest.mark.anyio
@pytest.mark.parametrize("what", ["inbox", "events", "tasks"])
async def test_a_cancelled_wait_holds_no_request(builder: Agent, what: str) -> None:
    async with builder.async_files() as files:
        following = {
            "inbox": lambda: files.inbox(wait=True),
            "events": lambda: files.events(wait=True),
            "tasks": lambda: files.tasks(),
        }[what]()

        async def follow() -> None:
            async for _ in following:
                pass

        async with anyio.create_task_group() as group:
            group.start_soon(follow)
            while requests_of(files) == 0:
                await anyio.sleep(0.01)
            group.cancel_scope.cancel()
        assert requests_of(files) == 0
        assert (await files.whoami())["agent_id"] == builder.id


@pytest.mark.anyio
async def test_stop_and_timeout_end_a_wait(builder: Agent) -> None:
    async with builder.async_files() as files:
        assert [grant async for grant in files.inbox(wait=True, timeout=0.5)] == []
        stop = anyio.Event()
        async with anyio.create_task_group() as group:

            async def follow() -> None:
                assert [grant async for grant in files.inbox(wait=True, stop=stop)] == []

            group.start_soon(follow)
            while requests_of(files) == 0:
                await anyio.sleep(0.01)
            with anyio.fail_after(5):
                stop.set()
        assert requests_of(files) == 0


@pytest.mark.anyio
async def test_a_cancelled_put_leaves_nothing(planner: Agent) -> None:
    class Endless(io.BytesIO):
        """Cancels its upload when it is read, which it never is to the end."""

        def read(self, size: int | None = -1, /) -> bytes:
            anyio.from_thread.run_sync(scope.cancel)
            return super().read(1)

    async with planner.async_files() as files:
        with anyio.CancelScope() as scope:
            await files.put("plan", Endless(bytes(1000)))
        assert scope.cancelled_caught
        types = [event["type"] async for event in files.events()]
        assert types.count("artifact.registered") == 1
        assert types[-1] in ("artifact.deleted", "artifact.abandoned")
        assert requests_of(files) == 0


@pytest.mark.anyio
async def test_a_cancelled_get_leaves_no_file(planner: Agent, tmp_path) -> None:
    async with planner.async_files() as files:
        await files.put("plan", bytes(5_000_000))
        with anyio.CancelScope() as scope:
            await files.get("plan", tmp_path / "plan", on_progress=lambda *_: scope.cancel())
        assert scope.cancelled_caught
        assert os.listdir(tmp_path) == []
        assert requests_of(files) == 0


@pytest.mark.anyio
async def test_a_hostile_tar_is_refused(planner: Agent, tmp_path) -> None:
    async with planner.async_files() as files:
        await files.put("no.tar", bytes(5))
        with pytest.raises(AgentError) as refused:
            await files.get_folder("no.tar", tmp_path / "folder")
        assert refused.value.code == "archive_refused"
        assert os.listdir(tmp_path) == []


@pytest.mark.anyio
async def test_a_function_for_the_key_does_not_stop_the_loop(planner: Agent) -> None:
    ticks = []

    def key() -> str:
        while len(ticks) < 3:
            pass
        return planner.key

    async def tick() -> None:
        while True:
            ticks.append(1)
            await anyio.sleep(0.01)

    files = AsyncAgentFiles(os.environ["URL"], key)
    async with files, anyio.create_task_group() as group:
        group.start_soon(tick)
        assert (await files.whoami())["agent_id"] == planner.id
        group.cancel_scope.cancel()


def test_a_client_in_two_event_loops(planner: Agent) -> None:
    files = planner.async_files()

    async def ask() -> str:
        return (await files.whoami())["agent_id"]

    assert [asyncio.run(ask()), asyncio.run(ask())] == [planner.id] * 2

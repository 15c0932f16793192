"""Tasks in asyncio and trio."""

from __future__ import annotations

import anyio
import pytest
from conftest import Agent

from agent_files import AgentError, AsyncAgentFiles, AsyncTask

pytestmark = pytest.mark.anyio


async def taken_again(files: AsyncAgentFiles) -> int:
    """The attempt with which a task that was given back is taken again."""
    while True:
        tasks = (await files.take(wait_seconds=5))["tasks"]
        if tasks:
            return tasks[0].get("attempt", 0)


async def test_a_task_is_read_and_answered(planner: Agent, builder: Agent, tmp_path) -> None:
    async with planner.async_files() as giver, builder.async_files() as files:
        given = await giver.put(
            "plan", text='{"floors": 2}', to=[builder.id], note="Build it.", metadata={"a": "b"}
        )
        async for task in files.tasks(timeout=30):
            assert (task.key, task.note, task.from_agent) == ("plan", "Build it.", planner.id)
            assert (task.attempt, task.metadata, task.version) == (1, {"a": "b"}, 1)
            assert task.is_held
            assert await task.json() == {"floors": 2}
            assert await task.text() == '{"floors": 2}'
            await task.file(tmp_path / "plan")
            assert (tmp_path / "plan").read_bytes() == await task.bytes()
            built = await files.put("built", text="Done.")
            done = await task.done(reply=built, note="As planned.")
            assert done["state"] == "done"
            assert not task.is_held
            break
        [reply] = [grant async for grant in giver.inbox()]
        assert reply["grant_id"] == done["reply"]["grant_id"]
        assert reply.get("note") == "As planned."
        assert reply.get("reply_to") == given["grants"][0]["grant_id"]
        assert [entry async for entry in files.inbox()] == []


async def test_a_reply_is_uploaded(planner: Agent, builder: Agent) -> None:
    async with planner.async_files() as giver, builder.async_files() as files:
        await giver.put("plan", text="1", to=[builder.id])
        async for task in files.tasks(wait=False):
            await task.done(reply="Built.", note="As planned.", metadata={"a": "b"})
        [reply] = [grant async for grant in giver.inbox()]
        assert (reply["key"], reply.get("metadata")) == ("replies/plan", {"a": "b"})
        assert [one["key"] async for one in files.list()] == ["replies/plan"]


async def test_a_reply_to_a_task_that_was_lost_is_deleted(planner: Agent, builder: Agent) -> None:
    async with planner.async_files() as giver, builder.async_files() as files:
        given = await giver.put("plan", text="1", to=[builder.id])
        async for task in files.tasks(wait=False):
            await giver.unshare(given["artifact_id"], builder.id)
            with pytest.raises(AgentError) as refused:
                await task.done(reply="Built.")
            assert refused.value.code in ("grant_revoked", "take_lapsed")
            assert not task.is_held
            assert await task.fail("Too late.") is None
            assert await task.release() is None
        assert [one async for one in files.list()] == []
        assert [grant async for grant in giver.inbox()] == []


async def test_a_task_without_an_outcome_is_given_back_by_the_next_turn(
    planner: Agent, builder: Agent
) -> None:
    async with planner.async_files() as giver, builder.async_files() as files:
        await giver.put("plan", text="1", to=[builder.id], max_attempts=2)
        attempts = [task.attempt async for task in files.tasks(wait=False)]
        assert attempts == [1, 2]
        assert [entry async for entry in files.inbox(states=["taken"])] == []


async def test_release_and_the_reason_of_an_error(planner: Agent, builder: Agent) -> None:
    async with planner.async_files() as giver, builder.async_files() as files:
        await giver.put("plan", text="1", to=[builder.id])
        async for task in files.tasks(wait=False):
            if task.attempt == 1:
                assert (await task.release())["state"] == "waiting"
            else:
                assert (await task.fail(ValueError("x" * 600)))["state"] == "waiting"
                break


async def test_what_only_a_grant_would_show_is_refused_before_the_upload(planner: Agent) -> None:
    async with planner.async_files() as files:
        for terms, path in [
            ({"note": "For nobody."}, "to"),
            ({"deliver": "one", "to": ["builder"]}, "deliver"),
            ({"idempotency_key": "k", "to": ["a", "b"]}, "idempotency_key"),
        ]:
            with pytest.raises(AgentError) as refused:
                await files.put("plan", text="1", **terms)
            assert [issue["path"] for issue in refused.value.issues] == [path]
        assert [event async for event in files.events(types=["artifact.registered"])] == []


async def test_a_note_without_a_reply_is_refused(planner: Agent, builder: Agent) -> None:
    async with planner.async_files() as giver, builder.async_files() as files:
        await giver.put("plan", text="1", to=[builder.id])
        async for task in files.tasks(timeout=30):
            with pytest.raises(AgentError) as refused:
                await task.done(note="Nothing")
            assert [issue["path"] for issue in refused.value.issues] == ["note"]
            assert task.is_held
            await task.done()
            break


async def test_a_task_that_fails_waits_again_or_is_parked(planner: Agent, builder: Agent) -> None:
    async with planner.async_files() as giver, builder.async_files() as files:
        given = await giver.put("plan", text="1", to=[builder.id])
        grant_id = given["grants"][0]["grant_id"]
        attempts = []
        async for task in files.tasks(timeout=30):
            attempts.append(task.attempt)
            is_last = task.attempt == 2
            failed = await task.fail("No roof.", retry_after_seconds=0, final=is_last)
            assert failed["state"] == ("parked" if is_last else "waiting")
            if is_last:
                break
        assert attempts == [1, 2]
        parked = [entry["grant_id"] async for entry in files.inbox(states=["parked"])]
        assert parked == [grant_id]
        await giver.requeue(grant_id)
        assert await taken_again(files) == 1


async def test_the_context_of_a_task_says_what_became_of_it(planner: Agent, builder: Agent) -> None:
    async with planner.async_files() as giver, builder.async_files() as files:
        for name in ["good", "bad"]:
            await giver.put(name, text=name, to=[builder.id], max_attempts=1)
        async for task in files.tasks(timeout=30):
            if task.key == "good":
                async with task:
                    pass
                continue
            with pytest.raises(ValueError, match="secret"):
                async with task:
                    raise ValueError("secret")
            break
        states = {}
        async for entry in files.inbox(states=["waiting", "taken", "done", "parked"]):
            states[entry["key"]] = entry.get("state")
        assert states == {"good": "done", "bad": "parked"}


async def test_a_take_is_extended_while_the_body_runs(planner: Agent, builder: Agent) -> None:
    async with planner.async_files() as giver, builder.async_files() as files:
        await giver.put("plan", text="1", to=[builder.id])
        extended = anyio.Event()
        call = files._connection.call

        async def watched(path, request, **options):
            answer = await call(path, request, **options)
            if path == "inbox/extend":
                extended.set()
            return answer

        files._connection.call = watched
        async for task in files.tasks(take_seconds=90, timeout=30):
            # As after a third of the 90 seconds.
            task._takes._held[task.take_id] = 0
            with anyio.fail_after(20):
                await extended.wait()
            assert task._takes._held[task.take_id] > 0
            await task.done()
            break


async def test_leaving_the_loop_gives_back(planner: Agent, builder: Agent) -> None:
    async with planner.async_files() as giver, builder.async_files() as files:
        await giver.put("plan", text="1", to=[builder.id])
        async for task in files.tasks(timeout=30):
            assert task.attempt == 1
            break
        with anyio.fail_after(30):
            assert await taken_again(files) == 2


async def test_a_cancelled_body_gives_back(planner: Agent, builder: Agent) -> None:
    async with planner.async_files() as giver, builder.async_files() as files:
        await giver.put("plan", text="1", to=[builder.id])
        begun = anyio.Event()

        async def work() -> None:
            async for _task in files.tasks(timeout=30):
                begun.set()
                await anyio.sleep_forever()

        async with anyio.create_task_group() as group:
            group.start_soon(work)
            await begun.wait()
            group.cancel_scope.cancel()
        with anyio.fail_after(30):
            assert await taken_again(files) == 2


async def test_a_cancelled_context_gives_back_its_task_alone(
    planner: Agent, builder: Agent
) -> None:
    async with planner.async_files() as giver, builder.async_files() as files:
        for name in ["one", "two"]:
            await giver.put(name, text="1", to=[builder.id])
        async with files.tasks(concurrency=2, timeout=30) as tasks:
            first = await tasks.__anext__()
            second = await tasks.__anext__()
            with anyio.move_on_after(0.1):
                async with first:
                    await anyio.sleep_forever()
            assert (first.is_held, second.is_held) == (False, True)
            await second.done()
        with anyio.fail_after(30):
            assert await taken_again(files) == 2


async def test_concurrency_bounds_what_is_held(planner: Agent, builder: Agent) -> None:
    async with planner.async_files() as giver, builder.async_files() as files:
        for number in range(6):
            await giver.put(f"plan {number}", text=str(number), to=[builder.id])
        held: list[int] = []
        done: list[str] = []
        stop = anyio.Event()

        async def work(task: AsyncTask) -> None:
            async with task:
                held.append(len(task._takes))
                done.append(await task.text())
            if len(done) == 6:
                stop.set()

        async with anyio.create_task_group() as group:
            async for task in files.tasks(concurrency=2, stop=stop, timeout=60):
                group.start_soon(work, task)
        assert sorted(done) == [str(number) for number in range(6)]
        assert max(held) == 2


async def test_stop_ends_the_loop_and_keeps_what_has_begun(planner: Agent, builder: Agent) -> None:
    async with planner.async_files() as giver, builder.async_files() as files:
        await giver.put("plan", text="1", to=[builder.id])
        stop = anyio.Event()
        kept = []
        async for task in files.tasks(concurrency=2, stop=stop):
            kept.append(task)
            stop.set()
        # Longer than it takes to notice that a loop was left.
        await anyio.sleep(0.6)
        assert kept[0].is_held
        await kept[0].done()


async def test_a_task_of_somebody_else_cannot_be_finished(planner: Agent, builder: Agent) -> None:
    async with planner.async_files() as giver, builder.async_files() as files:
        await giver.put("plan", text="1", to=[builder.id])
        async for task in files.tasks(timeout=30):
            # As if it had lapsed, and somebody else had taken it.
            await files.fail(task.take_id, "Lapsed.", retry_after_seconds=0)
            other = (await files.take())["tasks"][0]
            with pytest.raises(AgentError) as refused:
                async with task:
                    pass
            assert refused.value.code == "take_lapsed"
            assert not task.is_held
            assert (await files.done(take_id=other["take_id"]))["state"] == "done"
            break


async def test_no_concurrency_is_refused(builder: Agent) -> None:
    with pytest.raises(AgentError, match="concurrency") as refused:
        builder.async_files().tasks(concurrency=0)
    assert refused.value.code == "invalid_request"

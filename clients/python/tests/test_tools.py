"""The tools for language models."""

from __future__ import annotations

import inspect

import pytest
from conftest import Agent

from agent_files.tools import AgentTools

pytestmark = pytest.mark.anyio


async def test_a_hand_over_by_tools(planner: Agent, builder: Agent) -> None:
    async with planner.async_files() as ours, builder.async_files() as theirs:
        giving, working = AgentTools(ours), AgentTools(theirs)
        assert await working.take() == {}
        given = await giving.hand_over("plan.txt", "a house", builder.id, "Build it.")
        assert (given["name"], given["size"]) == ("plan.txt", 7)
        task = await working.take()
        assert (task["name"], task["text"], task["note"]) == ("plan.txt", "a house", "Build it.")
        assert task["from_agent"] == planner.id
        assert await working.take() == {}
        done = await working.done(task["take_id"], "A HOUSE", "built.txt")
        assert done == {"done": task["take_id"], "reply": "built.txt"}
        [reply] = [grant async for grant in ours.inbox()]
        assert (reply["key"], reply.get("reply_to")) == ("built.txt", given["task_id"])
        assert (await giving.take())["text"] == "A HOUSE"


async def test_a_task_that_fails_waits_again(planner: Agent, builder: Agent) -> None:
    async with planner.async_files() as ours, builder.async_files() as theirs:
        await ours.put("plan", b"\xff", to=[builder.id], max_attempts=2)
        tools = AgentTools(theirs)
        task = await tools.take()
        assert (task["text"], task["reason"]) == (None, "The file is not text.")
        failed = await tools.fail(task["take_id"], "It is not a plan.")
        assert failed == {"failed": task["take_id"], "state": "waiting"}
        refused = await tools.done(task["take_id"])
        assert refused["error"] == "take_lapsed"
        assert refused["message"]


async def test_a_refusal_is_an_answer_and_changes_nothing(planner: Agent, builder: Agent) -> None:
    async with planner.async_files() as ours, builder.async_files() as theirs:
        refused = await AgentTools(ours).hand_over("../plan", "1", builder.id)
        assert refused["error"] == "invalid_request"
        assert [one async for one in ours.list()] == []
        await ours.put("plan", text="long", to=[builder.id])
        tools = AgentTools(theirs, max_bytes=3)
        task = await tools.take()
        assert (task["text"], task["reason"]) == (None, "The file is too long to be shown.")
        assert (await tools.done(task["take_id"], "built"))["error"] == "invalid_request"
        wrong = "00000000-0000-4000-8000-000000000000"
        assert "error" in await tools.done(wrong, "built", "built.txt")
        assert [one async for one in theirs.list()] == []
        assert [grant async for grant in ours.inbox()] == []
        assert await tools.done(task["take_id"]) == {"done": task["take_id"]}


def test_frameworks_can_read_the_tools(planner: Agent) -> None:
    for tool in AgentTools(planner.async_files()).functions:
        assert inspect.iscoroutinefunction(tool)
        assert tool.__doc__
        for parameter in inspect.signature(tool).parameters.values():
            assert parameter.annotation is str

"""The extension Tasks, by the Python SDK: a hand-over is a task, which its host polls."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import asynccontextmanager
from typing import Any, Literal

import httpx2
from mcp import Client
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, Request, RequestParams, Result

URL = f"{os.environ['AGENT_URL']}/functions/v1/agent-artifacts/mcp"


class TaskParams(RequestParams):
    task_id: str


class GetTask(Request[TaskParams, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"
    params: TaskParams
    name_param = "taskId"


class Created(Result):
    result_type: Literal["task"] = "task"
    task_id: str
    status: str
    poll_interval_ms: int


class Task(Result):
    task_id: str
    status: str
    result: dict[str, Any] | None = None


class Tasks(ClientExtension):
    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self, begun: asyncio.Event) -> None:
        self.begun = begun
        self.statuses: list[str] = []

    def claims(self) -> list[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=Created, resolve=self.resolve)]

    async def resolve(self, created: Created, context: ClaimContext) -> CallToolResult:
        self.statuses.append(created.status)
        request = GetTask(params=TaskParams(task_id=created.task_id))
        while True:
            task = await context.session.send_request(request, Task)
            self.statuses.append(task.status)
            if task.status != "working":
                return CallToolResult.model_validate(task.result)
            # Nobody works on it before it has been seen to wait.
            self.begun.set()
            await asyncio.sleep(created.poll_interval_ms / 1000)


@asynccontextmanager
async def client_of(key: str, mode: str, *extensions: ClientExtension):
    headers = {"authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(URL, http_client=http)
        async with Client(transport, mode=mode, extensions=extensions) as client:
            yield client


async def call(client: Client, tool: str, **given: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, given)
    body = json.loads(result.content[0].text)
    assert not result.is_error, body
    return body


async def build(mode: str, begun: asyncio.Event) -> str:
    """The other agent's part. Returns the grant of its answer."""
    await begun.wait()
    async with client_of(os.environ["BUILDER_KEY"], mode) as builder:
        (task,) = (await call(builder, "take"))["tasks"]
        built = await call(builder, "put", key="built.txt", text="A HOUSE")
        reply = {"artifact_id": built["artifact_id"]}
        done = await call(builder, "done", take_id=task["take_id"], reply=reply)
        return done["reply"]["grant_id"]


async def hand_over(mode: str, *extensions: ClientExtension) -> dict[str, Any]:
    async with client_of(os.environ["AGENT_KEY"], mode, *extensions) as planner:
        plan = await call(planner, "put", key="plan.txt", text="a house")
        terms = {"artifact_id": plan["artifact_id"], "to_agent": os.environ["BUILDER"]}
        return await call(planner, "hand_over", **terms)


async def main() -> None:
    begun = asyncio.Event()
    tasks = Tasks(begun)

    async def polled() -> dict[str, Any]:
        try:
            return await hand_over("2026-07-28", tasks)
        finally:
            begun.set()

    given, replied = await asyncio.gather(polled(), build("2026-07-28", begun))
    assert tasks.statuses[:2] == ["working", "working"], tasks.statuses
    assert tasks.statuses[-1] == "completed", tasks.statuses
    assert (given["state"], given["reply_grant_id"]) == ("done", replied), given
    # Without the extension, and in the earlier protocol, the answer comes at once.
    for mode, extensions in [("2026-07-28", []), ("legacy", [Tasks(asyncio.Event())])]:
        given = await hand_over(mode, *extensions)
        assert "grant_id" in given and "reply_grant_id" not in given, given
        begun = asyncio.Event()
        begun.set()
        await build(mode, begun)
    print("passed")


asyncio.run(main())

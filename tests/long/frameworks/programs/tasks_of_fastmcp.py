"""The extension Tasks, by fastmcp's own package for it: a hand-over is a task that it polls."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp_tasks import call_tool_task

URL = f"{os.environ['AGENT_URL']}/functions/v1/agent-artifacts/mcp"


def client_of(key: str, **options: Any) -> Client[Any]:
    headers = {"authorization": f"Bearer {key}"}
    return Client(StreamableHttpTransport(URL, headers=headers), **options)


async def call(client: Client[Any], tool: str, **given: Any) -> dict[str, Any]:
    return (await client.call_tool(tool, given)).structured_content or {}


async def build() -> str:
    """The other agent's part. Returns the grant of its answer."""
    async with client_of(os.environ["BUILDER_KEY"]) as builder:
        (task,) = (await call(builder, "take"))["tasks"]
        built = await call(builder, "put", key="built.txt", text="A HOUSE")
        reply = {"artifact_id": built["artifact_id"]}
        done = await call(builder, "done", take_id=task["take_id"], reply=reply)
        return done["reply"]["grant_id"]


async def main() -> None:
    async with client_of(os.environ["AGENT_KEY"]) as planner:
        plan = await call(planner, "put", key="plan.txt", text="a house")
        terms = {"artifact_id": plan["artifact_id"], "to_agent": os.environ["BUILDER"]}
        handle = await call_tool_task(planner, "hand_over", terms)
        assert (await handle.status()).status == "working"
        replied = await build()
        given = (await handle.result()).structured_content
        assert (given["state"], given["reply_grant_id"]) == ("done", replied), given

        # A call as any other: fastmcp polls by itself.
        polled = asyncio.create_task(call(planner, "hand_over", **terms))
        while all(one["state"] != "waiting" for one in (await call(planner, "grants"))["grants"]):
            assert not polled.done(), await polled
            await asyncio.sleep(0.1)
        replied = await build()
        assert (await polled)["reply_grant_id"] == replied

        handle = await call_tool_task(planner, "hand_over", terms)
        await handle.cancel()
        assert (await handle.wait()).status == "cancelled"
    async with client_of(os.environ["AGENT_KEY"], mode="legacy") as planner:
        given = await call(planner, "hand_over", **terms)
        assert "grant_id" in given and "reply_grant_id" not in given, given
    print("passed")


asyncio.run(asyncio.wait_for(main(), 120))

"""The tools of agent-mesh, by the Python SDK in both protocols: two agents agree to a rule."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

URL = f"{os.environ['AGENT_URL']}/functions/v1/agent-mesh/mcp"
BUILDER = os.environ["BUILDER"]
# The highest bit is zero: a key of 2^255-19 or above is refused.
PUBKEYS = [base64.b64encode(os.urandom(31) + b"\1").decode() for _ in range(2)]


@asynccontextmanager
async def calls_of(key: str, mode: str):
    headers = {"authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        async with Client(streamable_http_client(URL, http_client=http), mode=mode) as client:
            assert (client.protocol_version < "2026") == (mode == "legacy"), client

            async def call(tool: str, **given: Any) -> dict[str, Any]:
                result = await client.call_tool(tool, given)
                return {**json.loads(result.content[0].text), "is_error": result.is_error}

            yield call


async def agree(mode: str) -> None:
    keys = os.environ["AGENT_KEY"], os.environ["BUILDER_KEY"]
    async with calls_of(keys[0], mode) as planner, calls_of(keys[1], mode) as builder:
        you = (await planner("peer_register", pubkey=PUBKEYS[0]))["agent_id"]
        await builder("peer_register", pubkey=PUBKEYS[1])
        rule = {"from_agent": you, "to_agent": BUILDER, "port": 443, "proto": "tcp"}
        # A rule of others is refused, and nothing changes.
        refused = await planner("acl_put", **{**rule, "from_agent": "somebody"})
        assert refused["is_error"] and refused["error"]["code"] == "forbidden", refused
        assert (await builder("netmap"))["acl_requests"] == []
        asked = await planner("acl_put", **rule)
        assert (asked["active"], asked["waiting_for"]) == (False, BUILDER), asked
        assert (await builder("acl_put", **rule))["active"] is True
        (peer,) = (await builder("netmap"))["peers"]
        assert (peer["agent_id"], peer["reaches_you"]) == (you, ["tcp/443"]), peer
        assert (await builder("acl_revoke", **rule))["revoked"] is True
        assert (await planner("netmap"))["peers"] == []


async def main() -> None:
    for mode in ("2026-07-28", "legacy"):
        await agree(mode)
    print("passed")


asyncio.run(main())

"""fastmcp's client, with the tools of both functions."""

from __future__ import annotations

import asyncio
import os

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport


async def tools_of(name: str) -> list[str]:
    url = f"{os.environ['AGENT_URL']}/functions/v1/{name}/mcp"
    headers = {"authorization": f"Bearer {os.environ['AGENT_KEY']}"}
    async with Client(StreamableHttpTransport(url, headers=headers)) as client:
        names = [tool.name for tool in await client.list_tools()]
        if name == "agent-artifacts":
            await client.call_tool(
                "put", {"key": "plan.txt", "text": "a house", "to": [os.environ["BUILDER"]]}
            )
        return names


async def main() -> None:
    print(await tools_of("agent-artifacts"))
    print(await tools_of("agent-mesh"))


asyncio.run(main())

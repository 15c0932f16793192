"""claude-agent-sdk: the tools of `agent_files.tools`, inside the program. Needs claude-agent-sdk.

options = ClaudeAgentOptions(mcp_servers={"files": tools_server(AgentTools(files))}, …)
"""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any

from claude_agent_sdk import SdkMcpTool, create_sdk_mcp_server

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from claude_agent_sdk import McpSdkServerConfig

    from .tools import AgentTools

__all__ = ["tools_server"]


def tools_server(tools: AgentTools, name: str = "files") -> McpSdkServerConfig:
    """The tools as a server for `mcp_servers`. The model sees `mcp__<name>__take` and so on, if
    the server has this name there."""
    return create_sdk_mcp_server(name, tools=[_shown(one) for one in tools.functions])


def _shown(function: Callable[..., Awaitable[dict[str, Any]]]) -> SdkMcpTool[Any]:
    async def act(given: dict[str, Any]) -> dict[str, Any]:
        answer = await function(**given)
        text = {"type": "text", "text": json.dumps(answer, ensure_ascii=False)}
        return {"content": [text], "is_error": "error" in answer}

    parameters = inspect.signature(function).parameters.values()
    schema = {
        "type": "object",
        "properties": {one.name: {"type": "string"} for one in parameters},
        "required": [one.name for one in parameters if one.default is one.empty],
        "additionalProperties": False,
    }
    return SdkMcpTool(function.__name__, inspect.getdoc(function) or "", schema, act)

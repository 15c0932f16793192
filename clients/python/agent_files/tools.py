"""Tools for a language model that acts as an agent. Frameworks take functions like these:

tools = AgentTools(files)
agent = Agent(tools=[function_tool(tool) for tool in tools.functions])
"""

from __future__ import annotations

import functools
import inspect
import io
import typing
from typing import TYPE_CHECKING, Any

from ._names import invalid_request
from .errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ._async.files import AsyncAgentFiles

__all__ = ["AgentTools"]

_Tool = typing.TypeVar("_Tool", bound="Callable[..., Awaitable[dict[str, Any]]]")


def _answering(tool: _Tool) -> _Tool:
    """Returns an error that the model can understand, where the service refuses something. Raises
    temporary errors, which are not the model's."""

    @functools.wraps(tool)
    async def act(*given: Any, **named: Any) -> dict[str, Any]:
        try:
            return await tool(*given, **named)
        except AgentError as error:
            if error.retryable:
                raise
            return {"error": error.code, "message": str(error)}

    # Frameworks read the types of the parameters, which are texts in this module.
    act.__annotations__ = typing.get_type_hints(tool)
    act.__dict__["__signature__"] = inspect.signature(tool, eval_str=True)
    return typing.cast("_Tool", act)


class AgentTools:
    """`functions` are the tools. Each returns a dictionary; if the service refuses a call, with
    `error` and `message`. A task that is taken belongs to the agent for `take_seconds`, within
    which `done` or `fail` must be called. The model reads at most `max_bytes` of a file."""

    def __init__(
        self, files: AsyncAgentFiles, *, take_seconds: int = 1800, max_bytes: int = 100_000
    ) -> None:
        self._files = files
        self._take_seconds = take_seconds
        self._max_bytes = max_bytes

    @property
    def functions(self) -> list[Callable[..., Awaitable[dict[str, Any]]]]:
        """The tools, in the order in which they should be shown."""
        return [self.hand_over, self.take, self.done, self.fail]

    @_answering
    async def hand_over(
        self, name: str, text: str, to_agent: str, note: str = ""
    ) -> dict[str, Any]:
        """Hands a text file to another agent, which gets it as a task.

        Args:
            name: The file's name, such as plans/house.txt.
            text: The content of the file.
            to_agent: The agent that gets it.
            note: What that agent should do with it.
        """
        artifact = await self._files.put(
            name, text=text, mime="text/plain; charset=utf-8", to=[to_agent], note=note or None
        )
        [grant] = artifact["grants"]
        return {"task_id": grant["grant_id"], "name": name, "size": artifact["size"]}

    @_answering
    async def take(self) -> dict[str, Any]:
        """Takes the next task that another agent has handed over. Call done or fail with its
        take_id when it is finished. Without a task, the answer is empty."""
        taken = await self._files.take(seconds=self._take_seconds)
        for task in taken["tasks"]:
            about = {
                "take_id": task["take_id"],
                "name": task["key"],
                "from_agent": task["from_agent"],
                "note": task.get("note"),
                "size": task["size"],
                "artifact_id": task["artifact_id"],
            }
            if task["size"] > self._max_bytes:
                return {**about, "text": None, "reason": "The file is too long to be shown."}
            received = io.BytesIO()
            await self._files.get(task["artifact_id"], received)
            try:
                return {**about, "text": received.getvalue().decode()}
            except UnicodeDecodeError:
                return {**about, "text": None, "reason": "The file is not text."}
        return {}

    @_answering
    async def done(self, take_id: str, reply: str = "", reply_name: str = "") -> dict[str, Any]:
        """Records that a task is done. Its giver gets the reply, if there is one.

        Args:
            take_id: The take_id of the task.
            reply: The content of the answer, as a text.
            reply_name: The name of the answer's file, such as replies/house.txt.
        """
        if not reply:
            await self._files.done(take_id=take_id)
            return {"done": take_id}
        if not reply_name:
            raise invalid_request([("reply_name", "A reply needs a name.")])
        artifact = await self._files.put(reply_name, text=reply, mime="text/plain; charset=utf-8")
        artifact_id = artifact["artifact_id"]
        try:
            await self._files.done(take_id=take_id, reply={"artifact_id": artifact_id})
        except AgentError:
            # Nobody will read it.
            await self._files.remove(artifact_id)
            raise
        return {"done": take_id, "reply": reply_name}

    @_answering
    async def fail(self, take_id: str, reason: str) -> dict[str, Any]:
        """Gives a task back that cannot be done. It waits for its next attempt.

        Args:
            take_id: The take_id of the task.
            reason: Why it cannot be done.
        """
        failed = await self._files.fail(take_id, reason)
        return {"failed": take_id, "state": failed["state"]}

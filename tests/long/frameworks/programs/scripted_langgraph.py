"""A model of langchain that is a script."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from scripted import answer_of, next_step


class Scripted(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_options: Any) -> Scripted:
        return self

    def _generate(self, messages: Any, *_given: Any, **_options: Any) -> ChatResult:
        answers = [answer_of(one.content) for one in messages if isinstance(one, ToolMessage)]
        step = next_step(answers)
        if isinstance(step, str):
            message = AIMessage(step)
        else:
            name, arguments = step
            call = {"name": name, "args": arguments, "id": f"call-{len(answers)}"}
            message = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=message)])

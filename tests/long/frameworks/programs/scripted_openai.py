"""A model of openai-agents that is a script."""

from __future__ import annotations

import json
from typing import Any

from agents import ModelResponse, Usage
from agents.models.interface import Model
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from scripted import answer_of, build, next_step


class Scripted(Model):
    async def get_response(
        self, system_instructions: Any, input: Any, *_others: Any, **_named: Any
    ) -> ModelResponse:
        items = [] if isinstance(input, str) else input
        answers = [
            answer_of(item["output"])
            for item in items
            if item.get("type") == "function_call_output"
        ]
        step = self.step(input, answers)
        if isinstance(step, str):
            text = ResponseOutputText(type="output_text", text=step, annotations=[])
            output: Any = ResponseOutputMessage(
                id="1", type="message", role="assistant", status="completed", content=[text]
            )
        else:
            name, arguments = step
            output = ResponseFunctionToolCall(
                type="function_call",
                call_id=f"call-{len(answers)}",
                name=name,
                arguments=json.dumps(arguments),
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def step(self, _asked: Any, answers: list[dict[str, Any]]) -> tuple[str, dict[str, Any]] | str:
        return next_step(answers)

    def stream_response(self, *_given: Any, **_named: Any) -> Any:
        raise NotImplementedError


class Builder(Scripted):
    def step(self, asked: Any, _answers: Any) -> str:
        return build(asked if isinstance(asked, str) else asked[0]["content"])

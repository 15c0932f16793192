"""A model of pydantic-ai that is a script."""

from __future__ import annotations

from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from scripted import answer_of, build, next_step


def _respond(messages: list[ModelMessage], _info: Any) -> ModelResponse:
    answers = [
        answer_of(part.content)
        for message in messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]
    step = next_step(answers)
    part = TextPart(step) if isinstance(step, str) else ToolCallPart(*step)
    return ModelResponse(parts=[part])


scripted_model = FunctionModel(_respond)


def _build(messages: list[ModelMessage], _info: Any) -> ModelResponse:
    return ModelResponse(parts=[TextPart(build(str(messages[0].parts[-1].content)))])


building_model = FunctionModel(_build)

"""A model of ADK that is a script: it draws a house, and hands it over."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from google.adk.models import BaseLlm, LlmResponse
from google.genai import types

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from google.adk.models import LlmRequest


class Scripted(BaseLlm):
    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        answers = [
            part.function_response.response
            for content in llm_request.contents
            for part in content.parts or []
            if part.function_response is not None
        ]
        if not answers:
            part = types.Part.from_function_call(name="draw", args={"text": "a house"})
        elif len(answers) == 1:
            assert "version" in answers[0], answers
            to = {"to_agent": os.environ["BUILDER"], "note": "Build it."}
            args = {"name": "plan.txt", "text": "a house", **to}
            part = types.Part.from_function_call(name="hand_over", args=args)
        else:
            assert answers[1]["name"] == "plan.txt", answers
            part = types.Part(text="Handed over.")
        yield LlmResponse(content=types.ModelContent([part]))

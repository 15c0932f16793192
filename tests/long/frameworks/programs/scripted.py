"""What models do that are scripts. One takes a task by tools, and answers it in capital letters. The
other, `build`, is asked to build something, and says the same in capital letters."""

from __future__ import annotations

import ast
import json
from typing import Any


def answer_of(text: Any) -> dict[str, Any]:
    """A tool's answer, as a framework shows it to the model."""
    if isinstance(text, dict):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return ast.literal_eval(text)


def next_step(answers: list[dict[str, Any]]) -> tuple[str, dict[str, Any]] | str:
    """The next call of a tool, or the last words, after these answers of tools."""
    if not answers:
        return "take", {}
    task = answers[0]
    if len(answers) == 1:
        reply = {"reply": task["text"].upper(), "reply_name": "built.txt"}
        return "done", {"take_id": task["take_id"], **reply}
    assert answers[1] == {"done": task["take_id"], "reply": "built.txt"}, answers
    return f"Built {task['name']}."


def build(asked: str) -> str:
    if asked == "a hole":
        raise ValueError("A hole cannot be built.")
    return asked.upper()

"""The Messages API at a port of this machine, with a model that is a script. Importing this makes
Claude Code ask it, and nobody else."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from scripted import answer_of, build, next_step

# Claude Code writes the server's name before the tool's.
PREFIX = "mcp__files__"
USAGE = {"input_tokens": 1, "output_tokens": 1}


def answers_in(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the tools have answered so far."""
    contents = [one["content"] for one in messages if isinstance(one["content"], list)]
    results = [block for content in contents for block in content if block["type"] == "tool_result"]
    return [answer_of(result["content"][0]["text"]) for result in results]


def prompt_in(messages: list[dict[str, Any]]) -> str:
    """What the user has said. Claude Code adds texts of its own."""
    [said] = [one["content"] for one in messages if one["role"] == "user"]
    texts = [said] if isinstance(said, str) else [block["text"] for block in said]
    [prompt] = [text for text in texts if not text.startswith("<system-reminder>")]
    return prompt


def events_of(asked: dict[str, Any]) -> list[dict[str, Any]]:
    answers = answers_in(asked["messages"])
    step = next_step(answers) if asked.get("tools") else build(prompt_in(asked["messages"]))
    if isinstance(step, str):
        block = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": step}
        reason = "end_turn"
    else:
        name, arguments = step
        call_id = f"toolu_{len(answers)}"
        block = {"type": "tool_use", "id": call_id, "name": PREFIX + name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        reason = "tool_use"
    message = {
        "id": f"msg_{len(answers)}",
        "type": "message",
        "role": "assistant",
        "model": asked["model"],
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": USAGE,
    }
    end = {"stop_reason": reason, "stop_sequence": None}
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": USAGE},
        {"type": "message_stop"},
    ]


class Api(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for event in events_of(asked):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def log_message(self, format: str, *_values: Any) -> None:
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
threading.Thread(target=server.serve_forever, daemon=True).start()
# Neither the settings nor the login of who runs this.
for name in [one for one in os.environ if one.startswith(("ANTHROPIC", "CLAUDE"))]:
    del os.environ[name]
folder = tempfile.TemporaryDirectory()
os.environ |= {
    "HOME": folder.name,
    "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}",
    "ANTHROPIC_API_KEY": "scripted",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
}

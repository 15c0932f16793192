"""What the framework's own backend of a store answers, ours answers, too."""

from __future__ import annotations

import asyncio
import os
from dataclasses import asdict
from typing import Any

from deepagents import create_deep_agent
from deepagents.backends import StoreBackend
from deepagents.backends.protocol import BackendProtocol
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.store.memory import InMemoryStore

from agent_files import AgentFiles
from agent_files.deepagents import AgentFilesBackend

URL = os.environ["AGENT_URL"]
PLAN = "first the cellar\nthen the roof\r\nthen the door"


def play(backend: BackendProtocol) -> list[Any]:
    """The answers of a backend to one course of calls."""
    told: list[Any] = []

    def tell(*answers: Any) -> None:
        told.extend(_comparable(asdict(answer)) for answer in answers)

    tell(backend.ls("/"), backend.read("/none.txt"), backend.edit("/none.txt", "a", "b"))
    tell(backend.delete("/none.txt"), backend.grep("roof"), backend.glob("*"))
    tell(backend.write("/plans/house.txt", PLAN), backend.write("/plans/old/hut.md", "no roof"))
    tell(backend.write("/planes.txt", ""), backend.write("/notes.txt", "ä roof"))
    tell(*backend.upload_files([("/b.bin", b"\xff\xfe"), ("/plans/up.txt", b"up")]))
    for path in ("/", "/plans", "/plans/", "/plan", "/plans/house.txt", "/none"):
        tell(backend.ls(path))
    for window in ((0, 2000), (1, 1), (2, 5), (3, 1), (-1, 1), (0, 0)):
        tell(backend.read("/plans/house.txt", *window))
    tell(backend.read("/planes.txt"), backend.read("/plans"))
    for old, new, everywhere in (
        ("then", "later", False),
        ("then", "later", True),
        ("missing", "x", False),
        ("", "x", False),
        ("cellar", "roof", False),
        ("door\n", "gate\n", False),
    ):
        tell(backend.edit("/plans/house.txt", old, new, everywhere))
    tell(backend.read("/plans/house.txt"), backend.edit("/b.bin", "a", "b"))
    for path in (None, "/", "/plans", "/plans/house.txt", "/none"):
        for glob in (None, "*.txt", "old/*", "/*.txt", "house.txt", "{house,hut}*", "../*"):
            tell(backend.grep("roof", path, glob))
            if glob:
                tell(backend.glob(glob, path))
    for path in ("/plans/house.txt", "/notes.txt"):
        tell(backend.grep("roof", path, max_count=1))
    tell(*backend.download_files(["/b.bin", "/plans/house.txt", "/plans", "/none.txt"]))
    tell(backend.write("/notes.txt", "written again"), backend.read("/notes.txt"))
    tell(backend.delete("/notes.txt"), backend.read("/notes.txt"), backend.delete("/notes.txt"))
    tell(backend.delete("/plans"), backend.ls("/"))
    return told


def _comparable(answer: Any) -> Any:
    """In one order, without times, and without sizes of binary files: the store's is in base64."""
    if isinstance(answer, dict):
        differing = ["modified_at", "created_at"]
        if str(answer.get("path")).endswith(".bin"):
            differing.append("size")
        return {name: _comparable(one) for name, one in answer.items() if name not in differing}
    if isinstance(answer, list):
        return sorted((_comparable(one) for one in answer), key=repr)
    return answer


class Scripted(BaseChatModel):
    """Writes a file, reads it, and says what it has read."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_options: Any) -> Scripted:
        return self

    def _generate(self, messages: Any, *_given: Any, **_options: Any) -> ChatResult:
        answers = [one.content for one in messages if isinstance(one, ToolMessage)]
        calls: list[tuple[str, dict[str, Any]]] = [
            ("write_file", {"file_path": "/made.txt", "content": "made by a model"}),
            ("read_file", {"file_path": "/made.txt"}),
        ]
        message = AIMessage(str(answers[-1]) if answers else "")
        if len(answers) < len(calls):
            name, arguments = calls[len(answers)]
            call = {"name": name, "args": arguments, "id": f"call-{len(answers)}"}
            message = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=message)])


def last_words(result: dict[str, Any]) -> str:
    return str(result["messages"][-1].content)


def main() -> None:
    with (
        AgentFiles(URL, os.environ["AGENT_KEY"]) as files,
        AgentFiles(URL, os.environ["BUILDER_KEY"]) as others,
    ):
        backend = AgentFilesBackend(files)
        own = StoreBackend(store=InMemoryStore(), namespace=lambda _runtime: ("files",))
        for number, (ours, theirs) in enumerate(zip(play(backend), play(own), strict=True)):
            assert ours == theirs, f"{number}\n{ours}\n{theirs}"
        assert {one["key"] for one in files.list()} == {"deepagents/b.bin", "deepagents/planes.txt"}

        small = AgentFilesBackend(files, prefix="small", max_bytes=4)
        assert small.write("/long.txt", "12345").error is None
        assert "more than 4 bytes" in str(small.read("/long.txt").error)
        assert "more than 4 bytes" in str(small.edit("/long.txt", "1", "2").error)
        assert small.grep("1").matches == []
        # What the service refuses is an answer, and changes nothing.
        before = [one["key"] for one in files.list()]
        assert str(small.write("/a\u0000b", "x").error).startswith("Error: ")
        [refused] = small.upload_files([("/a\u0000b", b"x")])
        assert str(refused.error).startswith("Error: ")
        assert [one["key"] for one in files.list()] == before

        agent = create_deep_agent(Scripted(), backend=backend)
        asked = {"messages": [{"role": "user", "content": "Make a file."}]}
        assert "made by a model" in last_words(agent.invoke(asked))
        assert "made by a model" in last_words(asyncio.run(agent.ainvoke(asked)))
        files.share("deepagents/made.txt", os.environ["BUILDER"])
        [grant] = others.inbox()
        assert grant["key"] == "deepagents/made.txt"
    print("passed")


main()

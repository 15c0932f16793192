"""What a framework's own service in memory answers, ours answers, too."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from google.adk.artifacts import InMemoryArtifactService
from google.genai import types

from agent_files import AsyncAgentFiles
from agent_files.adk import AgentFilesArtifactService

OF = {"app_name": "house", "user_id": "ann"}
HERE = {**OF, "session_id": "s1"}


REWOUND = types.Part.from_bytes(data=b"", mime_type="application/octet-stream")


def picture(data: bytes) -> types.Part:
    return types.Part.from_bytes(data=data, mime_type="image/png")


async def outcome(act: Any) -> Any:
    """What a call returns or, of an error, its class."""
    try:
        return await act
    except Exception as error:
        return type(error).__name__


async def play(service: Any) -> list[Any]:
    """The answers of a service to one course of calls."""
    told: list[Any] = []

    async def tell(act: Any) -> Any:
        told.append(await outcome(act))

    async def versions(filename: str, **where: Any) -> None:
        found = await service.list_artifact_versions(filename=filename, **where)
        told.extend(
            (one.version, one.mime_type, one.custom_metadata, one.create_time > 0) for one in found
        )

    await tell(service.load_artifact(filename="none.txt", **HERE))
    await tell(service.get_artifact_version(filename="none.txt", **HERE))
    await tell(service.list_versions(filename="none.txt", **HERE))
    await tell(service.list_artifact_keys(**HERE))
    await tell(service.delete_artifact(filename="none.txt", **HERE))
    for data in (b"one", b"two", b""):
        await tell(service.save_artifact(filename="plan.png", artifact=picture(data), **HERE))
    await tell(service.load_artifact(filename="plan.png", **HERE))
    for version in (0, 1, 2, 3, 70):
        await tell(service.load_artifact(filename="plan.png", version=version, **HERE))
    text = types.Part(text="Ein Häuschen")
    meta = {"pages": 2, "by": {"name": "Ann"}}
    await tell(
        service.save_artifact(filename="user:a note", artifact=text, custom_metadata=meta, **HERE)
    )
    await tell(service.load_artifact(filename="user:a note", **OF))
    await tell(service.load_artifact(filename="user:a note", app_name="house", user_id="bob"))
    camel = {"inlineData": {"data": "b25l", "mimeType": "text/csv"}}
    await tell(service.save_artifact(filename="rows/july.csv", artifact=camel, **HERE))
    await tell(service.load_artifact(filename="rows/july.csv", **HERE))
    link = types.Part.from_uri(file_uri="gs://bucket/one", mime_type="image/png")
    await tell(service.save_artifact(filename="link", artifact=link, **HERE))
    await tell(service.load_artifact(filename="link", **HERE))
    await versions("link", **HERE)
    await tell(service.save_artifact(filename="rewound", artifact=REWOUND, **HERE))
    await tell(service.load_artifact(filename="rewound", **HERE))
    await tell(service.save_artifact(filename="nothing", artifact=types.Part(), **HERE))
    await tell(service.save_artifact(filename="plan.png", artifact=text, **OF))
    await tell(service.load_artifact(filename="plan.png", app_name="a/..", user_id="b"))
    for where in (HERE, OF, {**OF, "session_id": "s2"}):
        await tell(service.list_artifact_keys(**where))
    await versions("plan.png", **HERE)
    await versions("user:a note", **OF)
    await tell(service.list_versions(filename="plan.png", **HERE))
    await references(service, tell)
    newest = await service.get_artifact_version(filename="plan.png", **HERE)
    first = await service.get_artifact_version(filename="plan.png", version=0, **HERE)
    told.append((newest.version, first.version))
    await tell(service.get_artifact_version(filename="plan.png", version=9, **HERE))
    await tell(service.delete_artifact(filename="plan.png", **HERE))
    await tell(service.load_artifact(filename="plan.png", **HERE))
    await tell(service.list_versions(filename="plan.png", **HERE))
    await tell(service.list_artifact_keys(**HERE))
    return told


async def references(service: Any, tell: Any) -> None:
    """Artifacts that lead to others: to one, to one of the user, to the next, and to what is not
    there, not allowed, or no end."""
    within = "artifact://apps/house/users/ann/sessions/s1/artifacts"
    leading = {
        "to-first": f"{within}/plan.png/versions/0",
        "to-user": "artifact://apps/house/users/ann/artifacts/user:a note/versions/0",
        "to-next": f"{within}/to-first/versions/0",
        "to-nothing": f"{within}/plan.png/versions/99",
        "to-nobody": "artifact://apps/house/users/ann/artifacts/plan.png/versions/0",
        "to-itself": f"{within}/to-itself/versions/0",
        "to-bob": "artifact://apps/house/users/bob/sessions/s1/artifacts/plan.png/versions/0",
        "to-s2": "artifact://apps/house/users/ann/sessions/s2/artifacts/plan.png/versions/0",
        "to-damage": f"{within}/plan.png/versions/last",
    }
    for name, uri in leading.items():
        part = types.Part.from_uri(file_uri=uri, mime_type="text/plain")
        await tell(service.save_artifact(filename=name, artifact=part, **HERE))
        await tell(service.load_artifact(filename=name, **HERE))
    of_versions = await service.list_artifact_versions(filename="to-first", **HERE)
    await tell(sole([(one.version, one.mime_type) for one in of_versions]))


async def sole(value: Any) -> Any:
    return value


async def main() -> None:
    async with AsyncAgentFiles(os.environ["AGENT_URL"], os.environ["AGENT_KEY"]) as files:
        ours = await play(AgentFilesArtifactService(files))
        theirs = await play(InMemoryArtifactService())
        for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            assert one == other, f"{number}: {one!r}, not {other!r}"
        assert len(ours) > 50
        service = AgentFilesArtifactService(files)
        await service.save_artifact(filename="shared", artifact=types.Part(text="1"), **HERE)
        await files.share(service.key("house", "ann", "shared", "s1"), os.environ["BUILDER"])
        async with AsyncAgentFiles(os.environ["AGENT_URL"], os.environ["BUILDER_KEY"]) as other:
            assert [grant["mime"] async for grant in other.inbox()] == ["text/plain"]
    print("passed")


asyncio.run(main())

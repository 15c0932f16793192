"""What a developer writes for the generated clients."""

from __future__ import annotations

import datetime
import hashlib
import json
import sys
from typing import TypeVar

import httpx
from agent_artifacts import AuthenticatedClient
from agent_artifacts.api.artifacts import commit, open_artifact, register
from agent_artifacts.api.grants import grant, inbox
from agent_artifacts.models import (
    CommitBody,
    ErrorBody,
    GrantBody,
    InboxBody,
    OpenArtifactBody,
    RegisterBody,
    VerifyingArtifact,
)
from agent_mesh import AuthenticatedClient as MeshClient
from agent_mesh.api.configuration import netmap
from agent_mesh.models import NetmapBody

Body = TypeVar("Body")


def body_of(answer: Body | ErrorBody | None) -> Body:
    if answer is None or isinstance(answer, ErrorBody):
        raise AssertionError(answer)
    return answer


def main() -> None:
    functions, given = sys.argv[1], json.loads(sys.argv[2])
    url = f"{functions}/agent-artifacts"
    planner = AuthenticatedClient(base_url=url, token=given["planner"]["key"])
    builder = AuthenticatedClient(base_url=url, token=given["builder"]["key"])
    size = given["file"]["size"]
    content = bytes((i * 31 + (i >> 8)) & 255 for i in range(size))

    registering = RegisterBody(
        key=given["file"]["key"], mime="application/octet-stream", size=size, ttl_days=1
    )
    registered = body_of(register.sync(client=planner, body=registering))
    httpx.put(registered.upload_url, content=content).raise_for_status()
    committing = CommitBody(
        artifact_id=registered.artifact_id, sha256=hashlib.sha256(content).hexdigest()
    )
    while isinstance(body_of(commit.sync(client=planner, body=committing)), VerifyingArtifact):
        pass
    granting = GrantBody(
        artifact_id=registered.artifact_id,
        to_agent=given["builder"]["id"],
        expires_at=datetime.datetime(2099, 12, 31, tzinfo=datetime.timezone.utc),
    )
    body_of(grant.sync(client=planner, body=granting))

    entry = body_of(inbox.sync(client=builder, body=InboxBody())).grants[0]
    opening = OpenArtifactBody(artifact_id=entry.artifact_id)
    opened = body_of(open_artifact.sync(client=builder, body=opening))
    received = httpx.get(opened.url).raise_for_status().content
    refused = open_artifact.sync_detailed(
        client=builder, body=OpenArtifactBody(artifact_id=given["closedId"])
    )
    assert isinstance(refused.parsed, ErrorBody)
    mesh = MeshClient(base_url=f"{functions}/agent-mesh", token=given["builder"]["key"])
    assert netmap.sync_detailed(client=mesh, body=NetmapBody()).status_code == 404
    print(
        json.dumps(
            {
                "sha256": hashlib.sha256(received).hexdigest(),
                "from": entry.from_agent,
                "refused": f"{refused.status_code.value} {refused.parsed.error.code.value}",
            }
        )
    )


main()

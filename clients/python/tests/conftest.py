"""Each test gets agents of its own, and runs in asyncio and in trio if it is asynchronous."""

from __future__ import annotations

import os
import threading
import uuid
from typing import Any, NamedTuple

import httpx
import pytest

from agent_files import AgentFiles, AsyncAgentFiles


class Agent(NamedTuple):
    id: str
    key: str

    def files(self, **options: Any) -> AgentFiles:
        return AgentFiles(os.environ["URL"], self.key, **options)

    def async_files(self, **options: Any) -> AsyncAgentFiles:
        return AsyncAgentFiles(os.environ["URL"], self.key, **options)


def new_agent() -> Agent:
    """Makes an agent key, as the operator."""
    agent_id = f"python-{uuid.uuid4()}"
    answer = httpx.post(
        f"{os.environ['URL']}/rest/v1/rpc/agent_api_create_agent_key",
        headers={"apikey": os.environ["SECRET_KEY"]},
        json={"agent_id": agent_id},
    )
    answer.raise_for_status()
    return Agent(agent_id, answer.json()["key"])


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def planner() -> Agent:
    return new_agent()


@pytest.fixture
def builder() -> Agent:
    return new_agent()


@pytest.fixture(autouse=True)
def _threads_end() -> Any:
    """A test leaves no thread of the package behind."""
    yield
    for thread in threading.enumerate():
        if thread.name.startswith("agent_files"):
            thread.join(10)
            assert not thread.is_alive()

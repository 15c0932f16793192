"""Hands files from one agent to another.

    files = AgentFiles("https://<ref>.supabase.co", key)
    files.put("plans/house.txt", path="house.txt", to=["builder"])
    for task in files.tasks():
        with task:
            print(task.text())

`AgentMesh` is the agent's part in the mesh. `AsyncAgentFiles` and `AsyncAgentMesh` have the same
methods for asyncio and trio. Answers are dictionaries, whose types are in `agent_files.models` and
`agent_files.mesh_models`. Errors are AgentError. Wrong arguments may also raise TypeError or
ValueError. HTTPS_PROXY, HTTP_PROXY, NO_PROXY, SSL_CERT_FILE and SSL_CERT_DIR are used.
"""

import importlib
from typing import TYPE_CHECKING, Any

from .errors import AgentError

if TYPE_CHECKING:
    from ._async.files import AsyncAgentFiles
    from ._async.tasks import AsyncTask, AsyncTasks
    from ._async_mesh.mesh import AsyncAgentMesh
    from ._async_mesh.peer import AsyncMeshPeer
    from ._sync.files import AgentFiles
    from ._sync.tasks import Task, Tasks
    from ._sync_mesh.mesh import AgentMesh
    from ._sync_mesh.peer import MeshPeer
    from ._types import Enrol, Key, Progress

# A program needs one of the two clients, and loads only that one.
_PLACES = {
    "AgentFiles": "_sync.files",
    "AsyncAgentFiles": "_async.files",
    "AgentMesh": "_sync_mesh.mesh",
    "AsyncAgentMesh": "_async_mesh.mesh",
    "AsyncMeshPeer": "_async_mesh.peer",
    "MeshPeer": "_sync_mesh.peer",
    "AsyncTask": "_async.tasks",
    "AsyncTasks": "_async.tasks",
    "Enrol": "_types",
    "Key": "_types",
    "Progress": "_types",
    "Task": "_sync.tasks",
    "Tasks": "_sync.tasks",
}

__all__ = [
    "AgentError",
    "AgentFiles",
    "AgentMesh",
    "AsyncAgentFiles",
    "AsyncAgentMesh",
    "AsyncMeshPeer",
    "AsyncTask",
    "AsyncTasks",
    "Enrol",
    "Key",
    "MeshPeer",
    "Progress",
    "Task",
    "Tasks",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f".{_PLACES[name]}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*globals(), *_PLACES]

"""A service inside the process, for the tests of programs that use `AgentFiles`.

from agent_files.testing import InProcessService

service = InProcessService()
planner, builder = service.files("planner"), service.files("builder")
planner.put("plan", text="how", to=["builder"])
for task in builder.tasks(wait=False):
    task.done(reply="Built.")
"""

from ._service import InProcessService

__all__ = ["InProcessService"]

"""What a program gives back that a signal ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any

import pytest
from conftest import Agent

BLOCKING = """
import os, signal, sys, time
from agent_files import AgentFiles
{before}
for task in AgentFiles(os.environ["URL"], sys.argv[1]).tasks():
    print(task.key, flush=True)
    time.sleep(600)
"""

WITH_TASK = BLOCKING.replace(
    "    print(task.key, flush=True)\n    time.sleep(600)",
    "    with task:\n        print(task.key, flush=True)\n        time.sleep(600)",
)

EVENT_LOOP = """
import os, signal, sys
import anyio
from agent_files import AsyncAgentFiles
{before}
async def main():
    async for task in AsyncAgentFiles(os.environ["URL"], sys.argv[1]).tasks():
        print(task.key, flush=True)
        await anyio.sleep(600)
anyio.run(main, backend="{backend}")
"""

PROGRAMS = {
    "threads": BLOCKING,
    "threads, with task": WITH_TASK,
    "asyncio": EVENT_LOOP.replace("{backend}", "asyncio"),
    "trio": EVENT_LOOP.replace("{backend}", "trio"),
}


def started(program: str, builder: Agent, before: str = "") -> Any:
    """A program that holds a task."""
    script = PROGRAMS[program].replace("{before}", before)
    child = subprocess.Popen(
        [sys.executable, "-c", script, builder.key],
        env=os.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "plan\n"
    return child


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_gives_back(
    planner: Agent, builder: Agent, program: str, number: signal.Signals
) -> None:
    with planner.files() as giver, builder.files() as files:
        giver.put("plan", text="1", to=[builder.id])
        with started(program, builder) as child:
            assert files.take()["tasks"] == []
            child.send_signal(number)
            _, errors = child.communicate(timeout=30)
        assert child.returncode == -signal.SIGINT, errors
        assert errors.strip().endswith("KeyboardInterrupt")
        # A worker that is stopped made no attempt. Of Ctrl-C, only a body inside `with task` knows.
        is_known = number == signal.SIGTERM or program == "threads, with task"
        taken = [task.get("attempt") for task in files.take()["tasks"]]
        assert taken == [1 if is_known else 2]


def test_a_program_that_handles_sigterm_decides(planner: Agent, builder: Agent) -> None:
    handle = "signal.signal(signal.SIGTERM, lambda *_: print('mine', flush=True))"
    with planner.files() as giver, builder.files() as files:
        giver.put("plan", text="1", to=[builder.id])
        with started("threads", builder, handle) as child:
            child.send_signal(signal.SIGTERM)
            assert child.stdout.readline() == "mine\n"
            assert [entry.get("state") for entry in files.inbox()] == ["taken"]
            child.send_signal(signal.SIGINT)
            child.communicate(timeout=30)
        assert [task.get("attempt") for task in files.take()["tasks"]] == [2]


def test_sigterm_ends_a_program_that_holds_nothing(planner: Agent, builder: Agent) -> None:
    script = """
import os, sys, time
from agent_files import AgentFiles
for task in AgentFiles(os.environ["URL"], sys.argv[1]).tasks(wait=False):
    task.done()
print("free", flush=True)
time.sleep(600)
"""
    with planner.files() as giver:
        giver.put("plan", text="1", to=[builder.id])
        with subprocess.Popen(
            [sys.executable, "-c", script, builder.key],
            env=os.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "free\n"
            child.send_signal(signal.SIGTERM)
            _, errors = child.communicate(timeout=30)
        assert (child.returncode, errors) == (-signal.SIGTERM, "")

"""Tasks without an event loop."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import Agent

from agent_files import Task


def test_tasks_are_done_in_threads(planner: Agent, builder: Agent) -> None:
    with planner.files() as giver, builder.files() as files, ThreadPoolExecutor(4) as pool:
        for number in range(5):
            giver.put(f"plan {number}", text=str(number), to=[builder.id])
        stop, done = threading.Event(), []

        def work(task: Task) -> None:
            with task:
                done.append(task.text())
            if len(done) == 5:
                stop.set()

        for task in files.tasks(concurrency=3, stop=stop, timeout=60):
            assert len(task._takes) <= 3
            pool.submit(work, task)
    assert sorted(done) == [str(number) for number in range(5)]


@pytest.mark.parametrize("how", ["break", "raise"])
def test_leaving_the_loop_gives_back(planner: Agent, builder: Agent, how: str) -> None:
    with planner.files() as giver, builder.files() as files:
        giver.put("plan", text="1", to=[builder.id])

        def work() -> None:
            for _task in files.tasks(timeout=30):
                if how == "raise":
                    raise KeyboardInterrupt
                break

        if how == "raise":
            with pytest.raises(KeyboardInterrupt):
                work()
        else:
            work()
        tasks = []
        while not tasks:
            tasks = files.take(wait_seconds=5)["tasks"]
        assert tasks[0].get("attempt") == 2


def test_the_end_of_a_program_gives_back(planner: Agent, builder: Agent) -> None:
    script = """
import os, sys
from agent_files import AgentFiles
tasks = AgentFiles(os.environ["URL"], sys.argv[1]).tasks(timeout=30)
task = next(tasks)
print(task.key)
"""
    with planner.files() as giver, builder.files() as files:
        giver.put("plan", text="1", to=[builder.id])
        ended = subprocess.run(
            [sys.executable, "-c", script, builder.key],
            env=os.environ,
            capture_output=True,
            text=True,
        )
        assert (ended.stdout, ended.stderr) == ("plan\n", "")
        assert files.take()["tasks"][0].get("attempt") == 2

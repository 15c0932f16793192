"""Runs the scenarios that the TypeScript client passes, too. Their table, and what its words mean,
are in `packages/agent-files/tests/scenarios/`. Reads the scenarios, with the agents of each, from
stdin, and prints what each step gave. Agents without keys are those of a service inside this
process."""

from __future__ import annotations

import functools
import inspect
import io
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from agent_files import AgentError, AsyncAgentFiles
from agent_files.testing import InProcessService


def resolved(value: Any, outcomes: list[Any], ids: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [resolved(one, outcomes, ids) for one in value]
    if isinstance(value, dict):
        return {name: resolved(one, outcomes, ids) for name, one in value.items()}
    if not isinstance(value, str) or not value.startswith("$"):
        return value
    first, *path = value[1:].split(".")
    if not path:
        return ids[first]
    found = outcomes[int(first) - 1]["gave"]
    for name in path:
        found = found[int(name) if isinstance(found, list) else name]
    return found


async def outcome_of(act: Callable[[], Awaitable[Any]]) -> dict[str, Any]:
    try:
        return {"gave": await act()}
    except AgentError as error:
        return {"failed": [error.code, error.status, error.retryable]}


async def answer_of(files: AsyncAgentFiles, step: dict[str, Any], options: dict[str, Any]) -> Any:
    if step["call"] == "get":
        file = io.BytesIO()
        return {**await files.get(destination=file, **options), "text": file.getvalue().decode()}
    if step["call"] != "tasks":
        made = getattr(files, step["call"])(**options)
        return await made if inspect.isawaitable(made) else [one async for one in made]
    worked = []
    async for task in files.tasks(**options):
        gave = []
        for method, *fields in step.get("each", []):
            act = functools.partial(getattr(task, method), **(fields[0] if fields else {}))
            outcome = await outcome_of(act)
            gave.append(outcome.get("gave", outcome))
        names = ("id", "key", "note", "from_agent", "metadata", "attempt", "entry")
        worked.append({**{name: getattr(task, name) for name in names}, "gave": gave})
    return worked


async def run_scenario(
    steps: list[dict[str, Any]], clients: dict[str, AsyncAgentFiles], ids: dict[str, str]
) -> list[dict[str, Any]]:
    outcomes: list[dict[str, Any]] = []
    for step in steps:
        options = resolved(step.get("with", {}), outcomes, ids)
        act = functools.partial(answer_of, clients[step["as"]], step, options)
        outcomes.append(await outcome_of(act))
        if outcomes[-1].get("failed", [""])[0] == "not_in_testing":
            break
    return outcomes


async def main(run: dict[str, Any]) -> None:
    said = []
    for scenario in run["scenarios"]:
        service = InProcessService()
        clients = {
            "planner": service.async_files("planner"),
            "builder": service.async_files("builder"),
            "stranger": AsyncAgentFiles(service.url, "ak_unknown", transport=service.transport),
        }
        for name, key in scenario.get("keys", {}).items():
            clients[name] = AsyncAgentFiles(run["url"], key)
        said.append(await run_scenario(scenario["steps"], clients, scenario["ids"]))
        for files in clients.values():
            await files.aclose()
    print(json.dumps(said))


if __name__ == "__main__":
    anyio.run(main, json.load(sys.stdin))

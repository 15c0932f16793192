"""`agent_files.testing`: the service inside the process, without asyncio and with it."""

from __future__ import annotations

import threading

import anyio
import httpx
import pytest

from agent_files import AgentError
from agent_files.testing import InProcessService


def test_a_hand_over_in_threads(tmp_path) -> None:
    service = InProcessService()
    planner, builder = service.files("planner"), service.files("builder")
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "house.txt").write_text("how")
    planner.put_folder("plans.tar", tmp_path / "plans", to=["builder"])
    builder.get_folder("plans.tar", tmp_path / "received", from_agent="planner")
    assert (tmp_path / "received" / "house.txt").read_text() == "how"
    for task in builder.tasks(wait=False):
        with task:
            assert task.key == "plans.tar"
    assert [grant["state"] for grant in planner.grants()] == ["done"]


def test_what_comes_later_ends_a_wait_and_so_does_stop() -> None:
    service = InProcessService()
    planner, builder = service.files("planner"), service.files("builder")
    stop, keys = threading.Event(), []

    def follow() -> None:
        for grant in builder.inbox(wait=True, stop=stop, timeout=60):
            keys.append(grant["key"])
            came.set()

    came = threading.Event()
    thread = threading.Thread(target=follow)
    thread.start()
    for key in ["first", "second"]:
        planner.put(key, text="1", to=["builder"])
        assert came.wait(10)
        came.clear()
    stop.set()
    thread.join(10)
    assert not thread.is_alive()
    assert keys == ["first", "second"]


@pytest.mark.anyio
async def test_many_agents_wait_in_one_event_loop() -> None:
    service = InProcessService()
    done = []

    async def work(name: str) -> None:
        async for task in service.async_files(name).tasks(timeout=30):
            done.append(await task.text())
            await task.done()
            break

    names = [f"builder-{number}" for number in range(20)]
    async with service.async_files("planner") as planner, anyio.create_task_group() as group:
        for name in names:
            group.start_soon(work, name)
        for name in names:
            await planner.put("plan", text=name, to=[name])
    assert sorted(done) == sorted(names)


def test_the_clock_is_moved() -> None:
    service = InProcessService()
    planner, builder = service.files("planner"), service.files("builder")
    artifact_id = planner.put("plan", text="1", to=["builder"], ttl_days=1)["artifact_id"]
    [first] = builder.take(seconds=60)["tasks"]
    assert builder.take() == {"tasks": []}
    service.advance(61)
    assert [grant["taken_by"] for grant in planner.grants()] == [None]
    [second] = builder.take()["tasks"]
    assert second.get("attempt") == 2
    with pytest.raises(AgentError) as refused:
        builder.done(take_id=first["take_id"])
    assert refused.value.code == "take_lapsed"
    builder.fail(second["take_id"], "No roof.")
    assert builder.take() == {"tasks": []}
    service.advance(20)
    assert [task.get("attempt") for task in builder.take()["tasks"]] == [3]
    service.advance(86_400)
    for files, code in [(builder, "artifact_not_found"), (planner, "artifact_expired")]:
        with pytest.raises(AgentError) as refused:
            files.get(artifact_id, "never-written")
        assert refused.value.code == code


def test_other_bytes_than_those_of_the_digest_are_refused() -> None:
    service = InProcessService()
    files = service.files("planner")
    terms = {"key": "plan", "mime": "text/plain", "size": 3, "ttl_days": 1}
    registered = files.call("register", terms)
    commit = {"artifact_id": registered["artifact_id"], "sha256": "0" * 64}
    http = httpx.Client(transport=service.transport)
    for content, code in [
        (None, "upload_missing"),
        (b"how", "checksum_mismatch"),
        (b"much", "size_mismatch"),
    ]:
        if content is not None:
            http.put(registered["upload_url"], content=content)
        with pytest.raises(AgentError) as refused:
            files.call("commit", commit)
        assert refused.value.code == code
    assert list(files.list()) == []


def test_what_it_lacks_is_named() -> None:
    service = InProcessService()
    files = service.files("planner")
    for act, what in [
        (files.leave, "/leave"),
        (lambda: files.call("list", {"colour": "red"}), "colour of /list"),
    ]:
        with pytest.raises(AgentError, match=what) as refused:
            act()
        assert (refused.value.code, refused.value.status) == ("not_in_testing", 501)
    with pytest.raises(httpx.ConnectError):
        httpx.Client(transport=service.transport).get("http://other.invalid/")

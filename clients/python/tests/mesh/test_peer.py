"""A program that is in the mesh, by the process of its peer."""

from __future__ import annotations

import http.server
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import anyio
import httpx
import pytest
from conftest import Agent

from agent_files import AgentError, AgentMesh, AsyncAgentMesh, AsyncMeshPeer, MeshPeer

if TYPE_CHECKING:
    from collections.abc import Iterator

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\nconnection: close\r\n\r\nlistened"
# What a peer is refused until it has heard of a rule.
NOT_YET = {"no_rule", "unknown_peer", "peer_unreachable"}


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        said = self.rfile.read(int(self.headers["content-length"]))
        answer = json.dumps({"path": self.path, "said": json.loads(said)}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


@contextmanager
def http_server() -> Iterator[int]:
    """An HTTP server of this machine. Yields its port."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def fetched(peer: AsyncMeshPeer, url: str, **options: Any) -> httpx.Response:
    """The answer, as soon as the rule has arrived."""
    while True:
        try:
            return await peer.fetch(url, **options)
        except AgentError as error:
            if error.code not in NOT_YET:
                raise
            await anyio.sleep(0.1)


@pytest.mark.anyio
async def test_two_peers(planner: Agent, builder: Agent) -> None:
    url = os.environ["URL"]
    ours, theirs = AsyncAgentMesh(url, planner.key), AsyncAgentMesh(url, builder.key)
    with http_server() as port:
        async with ours, theirs, ours.join() as peer, theirs.join() as other:
            assert (peer.agent_id, len(peer.addresses)) == (planner.id, 2)
            with pytest.raises(AgentError) as refused:
                await peer.fetch("http://nobody:8080/")
            assert refused.value.code == "unknown_peer"
            for mesh in (ours, theirs):
                for number in (8080, 8081, 8082):
                    await mesh.allow(planner.id, builder.id, number)
            await other.expose(8080, port)
            said = {"json": {"floors": 2}, "method": "POST"}
            answer = await fetched(peer, f"http://{other.name}:8080/plan?now", **said)
            assert answer.json() == {"path": "/plan?now", "said": {"floors": 2}}
            async with httpx.AsyncClient(transport=peer.httpx_transport()) as client:
                address = other.addresses[0]
                again = await client.post(f"http://{address}:8080/", json=3, timeout=60)
                assert again.json() == {"path": "/", "said": 3}

            async def answered(stream: Any) -> None:
                async with stream:
                    await stream.receive()
                    await stream.send(ANSWER)

            async with anyio.create_task_group() as group:
                listener = await other.listen(8081)
                group.start_soon(listener.serve, answered)
                heard = await fetched(peer, f"http://{other.name}:8081/")
                assert heard.text == "listened"
                group.cancel_scope.cancel()
            # The port leads to the server from now on.
            await other.expose(8081, port)
            answer = await peer.fetch(f"http://{other.name}:8081/", **said)
            assert answer.json()["said"] == {"floors": 2}
            with pytest.raises(AgentError) as refused:
                await fetched(peer, f"http://{other.name}:8082/")
            assert refused.value.code == "connection_refused"
            with pytest.raises(AgentError) as refused:
                await peer.fetch(f"http://{other.name}:9/")
            assert refused.value.code == "no_rule"
            with pytest.raises(AgentError) as refused:
                await other.expose(65_536)
            assert refused.value.code == "usage"


def test_two_peers_in_threads(planner: Agent, builder: Agent) -> None:
    url = os.environ["URL"]
    ours, theirs = AgentMesh(url, planner.key), AgentMesh(url, builder.key)
    with ours, theirs, ours.join() as peer, theirs.join() as other:
        for mesh in (ours, theirs):
            mesh.allow(planner.id, builder.id, 8080)
        listener = other.listen(8080)
        thread = threading.Thread(target=_answer_one, args=(listener,))
        thread.start()
        assert _fetched(peer, f"http://{other.name}:8080/").text == "listened"
        thread.join()


def _fetched(peer: MeshPeer, url: str) -> httpx.Response:
    while True:
        try:
            return peer.fetch(url)
        except AgentError as error:
            if error.code not in NOT_YET:
                raise
            time.sleep(0.1)


def _answer_one(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.recv(65_536)
        connection.sendall(ANSWER)


def test_another_process_of_the_agent_ends_the_peer(planner: Agent) -> None:
    with AgentMesh(os.environ["URL"], planner.key) as mesh, mesh.join() as peer:
        with mesh.join():
            while True:
                with pytest.raises(AgentError) as refused:
                    peer.fetch("http://nobody:8080/")
                if refused.value.code not in ("unknown_peer", "network_error"):
                    break
                time.sleep(0.1)
        assert refused.value.code == "superseded"
        with pytest.raises(AgentError) as refused:
            peer.expose(8080)
        assert refused.value.code == "superseded"


def test_the_program_of_the_readme(planner: Agent, builder: Agent) -> None:
    url = os.environ["URL"]
    ours, theirs = AgentMesh(url, planner.key), AgentMesh(url, builder.key)
    with http_server() as port, ours, theirs, theirs.join() as other:
        with ours.join():
            """After it has left, the agent keeps its rules."""
        for mesh in (ours, theirs):
            mesh.allow(planner.id, builder.id, 8080)
        other.expose(8080, port)
        program = os.environ["README_PROGRAM"].replace("//builder:", f"//{other.name}:")
        said = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "AGENT_URL": url, "AGENT_KEY": planner.key},
            capture_output=True,
            text=True,
        )
        assert (said.returncode, said.stdout) == (0, "200 hello\n"), said.stderr


PROGRAM = """
import os, sys, time
from agent_files import AgentMesh
with AgentMesh(os.environ["URL"], sys.argv[1]) as mesh, mesh.join() as peer:
    print(peer._process._process.pid, flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_peer_ends_with_the_program(planner: Agent, number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, planner.key],
        env=os.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdout is not None
        peer = int(program.stdout.readline())
        assert _is_running(peer)
        program.send_signal(number)
        # Returns when the program has ended: the peer does not keep its output open.
        program.communicate()
    while _is_running(peer):
        time.sleep(0.1)


def _is_running(process: int) -> bool:
    try:
        state = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_a_program_that_is_not_there(planner: Agent) -> None:
    with AgentMesh(os.environ["URL"], planner.key) as mesh:
        with pytest.raises(AgentError) as refused, mesh.join(program=["no-such-agentfiles"]):
            pass
        assert refused.value.code == "peer_missing"
        assert "Node 20" in str(refused.value)
        with pytest.raises(AgentError) as refused, mesh.join(program=["false"]):
            pass
        assert refused.value.code == "peer_ended"


def test_a_key_that_is_refused_is_told_and_not_shown() -> None:
    wrong = "ak_" + "0" * 40
    with AgentMesh(os.environ["URL"], wrong) as mesh:
        with pytest.raises(AgentError) as refused, mesh.join():
            pass
        assert refused.value.status == 401
        assert wrong not in str(refused.value)


@pytest.mark.anyio
async def test_a_cancelled_join_leaves_no_process(planner: Agent, tmp_path: pathlib.Path) -> None:
    noted = tmp_path / "process"
    script = f"import os, sys; open({str(noted)!r}, 'w').write(str(os.getpid())); sys.stdin.read()"
    async with AsyncAgentMesh(os.environ["URL"], planner.key) as mesh:

        async def join() -> None:
            async with mesh.join(program=[sys.executable, "-c", script]):
                raise AssertionError("It never says that it has joined.")

        async with anyio.create_task_group() as group:
            group.start_soon(join)
            while not (noted.exists() and noted.read_text()):
                await anyio.sleep(0.05)
            process = int(noted.read_text())
            group.cancel_scope.cancel()
        assert not _is_running(process)

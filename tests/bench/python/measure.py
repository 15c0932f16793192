"""Measures the Python client beside curl, and prints one JSON object. See main.ts here."""

import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from agent_files import AgentFiles, AsyncAgentFiles
from agent_files._async import download, upload
from agent_files._sync import download as sync_download
from agent_files._sync import upload as sync_upload

URL, SECRET = os.environ["URL"], os.environ["SECRET"]
GIVEN = json.loads(sys.argv[1])
SIZE, TURNS, AGENTS = GIVEN["mebibytes"] * 1024**2, GIVEN["turns"], 20


def seconds(act, *args, **options):
    started_at = time.perf_counter()
    act(*args, **options)
    return time.perf_counter() - started_at


def import_ratio():
    """The time of `from agent_files import …`, by that of `import httpx`."""
    script = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"

    def once(statement):
        args = [sys.executable, "-c", script.format(statement)]
        return float(subprocess.run(args, capture_output=True, check=True).stdout)

    statements = ["import httpx", "from agent_files import AgentFiles",
                  "from agent_files import AsyncAgentFiles"]
    for statement in statements:
        once(statement)
    times = [[once(statement) for statement in statements] for _ in range(10)]
    bare, *ours = (statistics.median(column) for column in zip(*times, strict=True))
    return [one / bare for one in ours]


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def registered(files):
    request = {"agent_id": "planner", "key": "big", "mime": "a/b", "size": SIZE, "ttl_days": 1}
    return files.call("register", request)


def curl(*args):
    subprocess.run(["curl", "-sSf", *args], check=True, stdout=subprocess.DEVNULL)


def transfers(send, receive):
    """Only the bytes: the upload and the download without register, commit and open."""
    files = AgentFiles(URL, SECRET, agent_id="planner")
    before = peak()
    up, down = [], []
    for _ in range(TURNS):
        mine = seconds(send, registered(files)["upload_url"])
        up.append(mine / seconds(curl, "-T", "big", registered(files)["upload_url"]))
        artifact = files.put("big", path="big")
        opened = files.call("open", {"agent_id": "planner", "key": "big"})
        mine = seconds(receive, opened)
        down.append(mine / seconds(curl, "-o", "received", opened["url"]))
        files.remove(artifact["artifact_id"])
    return statistics.median(up), statistics.median(down), peak() - before


def sent(url):
    http = AgentFiles(URL, SECRET)._connection.http
    with open("big", "rb") as file:
        sync_upload.upload(http, url, file, SIZE, lambda *_: None)


def received(opened):
    http = AgentFiles(URL, SECRET)._connection.http
    # Without fsync, as curl.
    with open("received", "wb") as file:
        sync_download.Download(http, opened, lambda: opened, 1, lambda *_: None).to_file(file)


def sent_in_loop(url):
    async def act():
        async with AsyncAgentFiles(URL, SECRET) as files:
            with open("big", "rb") as file:
                await upload.upload(files._connection.http, url, file, SIZE, lambda *_: None)

    asyncio.run(act())


def received_in_loop(opened):
    async def again():
        return opened

    async def act():
        async with AsyncAgentFiles(URL, SECRET) as files:
            http = files._connection.http
            with open("received", "wb") as file:
                await download.Download(http, opened, again, 1, lambda *_: None).to_file(file)

    asyncio.run(act())


def many():
    """The time of 20 agents' hand-overs in one event loop, by that in a pool of 64 threads."""
    names = [f"agent-{number}" for number in range(AGENTS)]

    async def one(name):
        async with AsyncAgentFiles(URL, SECRET, agent_id=name) as files:
            for number in range(5):
                await files.put(f"{number}", b"1", to=["planner"])

    async def in_loop():
        await asyncio.gather(*map(one, names))

    def in_thread(name):
        with AgentFiles(URL, SECRET, agent_id=name) as files:
            for number in range(5):
                files.put(f"{number}", b"1", to=["planner"])

    def in_threads():
        with ThreadPoolExecutor(64) as pool:
            list(pool.map(in_thread, names))

    in_threads()
    ratios = []
    for _ in range(TURNS):
        threads = seconds(in_threads)
        ratios.append(seconds(asyncio.run, in_loop()) / threads)
    return statistics.median(ratios)


def newcomer():
    """A program as a reader of the README writes it: 20 agents in one event loop. Each waits for a
    task and answers it."""
    names = [f"worker-{number}" for number in range(AGENTS)]

    async def work(name):
        async with AsyncAgentFiles(URL, SECRET, agent_id=name) as files:
            async for task in files.tasks():
                await task.done(reply=(await task.text()).upper())
                break

    async def give():
        async with AsyncAgentFiles(URL, SECRET, agent_id="planner") as files:
            for name in names:
                await files.put(f"plans/{name}", text="a house", to=[name])

    async def main():
        await asyncio.gather(*map(work, names), give())

    return seconds(asyncio.run, main())


with open("big", "wb") as file:
    for _ in range(SIZE // 1024**2):
        file.write(os.urandom(1024**2))
imported = import_ratio()
upload_ratio, download_ratio, grown = transfers(sent, received)
loop_upload, loop_download, loop_grown = transfers(sent_in_loop, received_in_loop)
size = f"{GIVEN['mebibytes']} MiB"
print(json.dumps({
    "import of AgentFiles, by import httpx": [imported[0], 1.5],
    "import of AsyncAgentFiles, by import httpx": [imported[1], 1.5],
    f"upload of {size}, by curl": [upload_ratio, 1.15],
    f"download of {size}, by curl": [download_ratio, 1.15],
    "growth of memory in MiB": [grown, 20],
    f"upload of {size} in an event loop, by curl": [loop_upload, 1.15],
    f"download of {size} in an event loop, by curl": [loop_download, 1.15],
    "growth of memory in MiB, in an event loop": [loop_grown, 20],
    "20 agents in one event loop, by 64 threads": [many(), 1.0],
    "a newcomer's program with 20 agents, in seconds": [newcomer(), 30],
}))

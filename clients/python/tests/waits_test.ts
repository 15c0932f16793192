import assert from "node:assert/strict";
import { agree, join, netmapOf, ruleBetween } from "../../../tests/conformance/mesh_cast.ts";
import { python, twoAgents } from "./run.ts";

Deno.test("Python: inbox(wait=True) and events(wait=True) in asyncio.to_thread, stopped or with a timeout → the threads end", async () => {
  const answer = await python(
    `
async def main():
    ended = []
    for start in [builder.inbox, builder.events]:
        stop = threading.Event()
        waiting = asyncio.create_task(asyncio.to_thread(lambda: list(start(wait=True, stop=stop))))
        # Only a request that waits can be stopped in the middle.
        while not any("_shut_when_stopped" in thread.name for thread in threading.enumerate()):
            await asyncio.sleep(0.05)
        stop.set()
        ended.append(type(await waiting).__name__)
        ended.append(type(await asyncio.to_thread(
            lambda: list(start(wait=True, timeout=1)))).__name__)
    return ended
ended = asyncio.run(main())
while threading.active_count() > 1:
    time.sleep(0.05)
stop = threading.Event()
stop.set()
nobody = AgentFiles("http://127.0.0.1:1", "ak_x")
print(json.dumps({
    "ended": ended, "stopped": list(builder.inbox(wait=True, stop=stop)),
    "retried": list(nobody.inbox(wait=True, timeout=1)),
}))
`,
    await twoAgents(),
  );
  assert.deepEqual(answer, {
    ended: ["list", "list", "list", "list"],
    stopped: [],
    retried: [],
  });
});

Deno.test("Python: inbox() with after and on_position → only what came since; events() → what happened, each once", async () => {
  const answer = await python(
    `
positions, names = [], {}
def put(name):
    names[planner.put(name, b"1", to=[builder_id])["artifact_id"]] = name
put("first")
first = [grant["key"] for grant in builder.inbox(on_position=positions.append)]
put("second")
second = [grant["key"] for grant in builder.inbox(after=positions[-1], on_position=positions.append)]
none = list(builder.inbox(after=positions[-1]))
seen = []
for event in planner.events(wait=True, types=["artifact.committed"], on_position=positions.append):
    seen.append(names[event["artifact_id"]])
    if len(seen) == 3:
        break
    if len(seen) == 2:
        put("third")
before = positions[-1]
put("fourth")
since = [names[event["artifact_id"]] for event in planner.events(after=before)
         if event["type"] == "artifact.registered"]
print(json.dumps({"first": first, "second": second, "none": none, "seen": seen, "since": since}))
`,
    await twoAgents(),
  );
  assert.deepEqual(answer, {
    first: ["first"],
    second: ["second"],
    none: [],
    seen: ["first", "second", "third"],
    since: ["third", "fourth"],
  });
});

Deno.test("Python: whoami(), grants(), block(), unblock() → as the operations answer", async () => {
  const [planner, builder] = await twoAgents();
  const answer = await python(
    `
artifact = planner.put("plan", b"1", to=[builder_id])
planner.put("other", b"1", to=[builder_id])
given = list(planner.grants(artifact_id=artifact["artifact_id"], to_agent=builder_id))
blocked = builder.block(planner_id)
hidden = list(builder.inbox())
unblocked = builder.unblock(planner_id)
print(json.dumps({
    "who": planner.whoami()["agent_id"], "all": len(list(planner.grants())),
    "given": [grant["artifact_id"] == artifact["artifact_id"] for grant in given],
    "blocked": blocked, "hidden": hidden, "unblocked": unblocked, "shown": len(list(builder.inbox())),
}))
`,
    [planner, builder],
  );
  assert.deepEqual(answer, {
    who: planner.id,
    all: 2,
    given: [true],
    blocked: { from_agent: planner.id, blocked: true },
    hidden: [],
    unblocked: { from_agent: planner.id, blocked: false },
    shown: 2,
  });
});

Deno.test("Python: wait() with paths → the heartbeat of the agent's host, with what it sees", async () => {
  const [planner, builder] = await twoAgents();
  for (const agent of [planner, builder]) await join(agent);
  await agree(ruleBetween(planner, builder));
  const fields = await python(
    `
answer = planner.wait(wait_seconds=0, paths=[
    {"agent_id": builder_id, "handshake_age_seconds": 3, "endpoint": None, "via": "relay"}])
print(json.dumps(sorted(answer)))
`,
    [planner, builder],
  );
  assert.deepEqual(fields, ["config_version", "heartbeat_interval_seconds"]);
  const peer = (await netmapOf(builder)).peers.find(({ agent_id }) => agent_id === planner.id);
  assert.equal(peer?.online, true);
  assert.equal(peer?.path?.reported_by_peer?.via, "relay");
});

Deno.test("Python: wait() → which of the positions have something new", async () => {
  const answer = await python(
    `
positions = []
list(builder.inbox(on_position=positions.append))
before = builder.wait(inbox_after=positions[-1], wait_seconds=0)
planner.put("plan", b"1", to=[builder_id])
told = builder.wait(inbox_after=positions[-1])
again = [grant["key"] for grant in builder.inbox(after=told["inbox"]["latest"])]
print(json.dumps({
    "before": before["inbox"]["changed"], "told": told["inbox"]["changed"], "again": again,
    "fields": sorted(told),
}))
`,
    await twoAgents(),
  );
  assert.deepEqual(answer, {
    before: false,
    told: true,
    again: ["plan"],
    fields: ["heartbeat_interval_seconds", "inbox"],
  });
});

Deno.test("Python: inbox(wait=True) where a wait is cut off, or is longer than the deployment takes → the next is shorter; tried longer after ten", async () => {
  const answer = await python(
    `
from agent_files._http.wait_length import WaitLength
def broken(code="network_error"):
    return AgentError(code, "Broken.", retryable=True)
length = WaitLength()
seen = [length.seconds]
for elapsed, error in [(2, broken()), (60, broken("upstream_unavailable")),
                       (60, broken("maintenance")), (60.2, broken()), (170, broken())]:
    length.failed(elapsed, error)
    seen.append(length.seconds)
for _ in range(9):
    length.answered(50)
length.answered(3)
seen.append(length.seconds)
length.answered(50)
seen.append(length.seconds)

asked = []
def exchange(method, path, body, seconds, limit):
    asked.append(json.loads(body).get("wait_seconds"))
    if asked[-1] == 140:
        raise AgentError("invalid_request", "Wrong.", status=422,
                         details={"issues": [{"path": "wait_seconds", "message": "Too long."}]})
    page = {"grants": [], "latest": "1:1:", "next_cursor": None}
    return ({**page, "grants": [{"grant_id": "g", "from_agent": "x"}]} if asked[-1] else page), None
builder._connection.exchange = exchange
next(builder.inbox(wait=True))
print(json.dumps({"seen": seen, "asked": asked}))
`,
    await twoAgents(),
  );
  assert.deepEqual(answer, {
    seen: [140, 140, 140, 140, 54, 48, 48, 72],
    asked: [null, 140, 50],
  });
});

import assert from "node:assert/strict";
import { python, twoAgents } from "./run.ts";

Deno.test("Python: put() of bytes, a path and a file → the other agent gets them, by id and by key", async () => {
  const answer = await python(
    `
content = bytes(range(256)) * 2000
open("plan", "wb").write(content)
sources = {"bytes": content, "path": pathlib.Path("plan"), "file": open("plan", "rb"), "empty": b""}
for key, source in sources.items():
    planner.put(key, source, to=[builder_id], ttl_days=2)
planner.put("named", path="plan", to=[builder_id])
planner.put("text", text="Größe", to=[builder_id])
content_of = {"empty": b"", "text": "Größe".encode()}
same = []
for grant in builder.inbox():
    builder.get(grant["artifact_id"], "received")
    same.append(open("received", "rb").read() == content_of.get(grant["key"], content))
buffer = io.BytesIO()
builder.get("path", buffer, from_agent=planner_id)
same.append(buffer.getvalue() == content)
print(json.dumps({"same": same, "keys": [a["key"] for a in planner.list()], "left": sorted(os.listdir())}))
`,
    await twoAgents(),
  );
  assert.deepEqual(answer, {
    same: [true, true, true, true, true, true, true],
    keys: ["bytes", "empty", "file", "named", "path", "text"],
    left: ["plan", "received"],
  });
});

Deno.test("Python: link() and share() with max_downloads → the bytes so often, then grant_used_up", async () => {
  const answer = await python(
    `
import urllib.request
planner.put("plan", b"how")
made = planner.link("plan", max_downloads=1)
text = urllib.request.urlopen(made["url"]).read().decode()
planner.share("plan", builder_id, max_downloads=1)
buffer = io.BytesIO()
builder.get("plan", buffer, from_agent=planner_id)
print(json.dumps({
    "text": text, "to": made["to_agent"], "got": buffer.getvalue().decode(),
    "refused": [refusal(lambda: builder.call("fetch", {"grant_token": made["token"]})),
                refusal(lambda: builder.get(made["artifact_id"], buffer))],
}))
`,
    await twoAgents(),
  );
  const usedUp = ["grant_used_up", 410, false, true];
  assert.deepEqual(answer, { text: "how", to: null, got: "how", refused: [usedUp, usedUp] });
});

Deno.test("Python: errors → code, status, retryable; a get() that fails leaves no file", async () => {
  const answer = await python(
    `
artifact = planner.put("plan", b"1", to=[builder_id])
revoked = planner.unshare("plan", builder_id)["revoked"]
nobody = AgentFiles("http://127.0.0.1:1", "ak_x", retry_seconds=0)
print(json.dumps({
    "revoked": revoked,
    "get": refusal(lambda: builder.get(artifact["artifact_id"], "received")),
    "put": refusal(lambda: planner.put("up", b"1", ttl_days=0)),
    "key": refusal(lambda: list(AgentFiles(os.environ["URL"], "ak_x", agent_id="a").list())),
    "nobody": refusal(lambda: list(nobody.list())),
    "left": os.listdir(),
}))
`,
    await twoAgents(),
  );
  assert.deepEqual(answer, {
    revoked: 1,
    get: ["artifact_not_found", 404, false, true],
    put: ["invalid_request", 422, false, true],
    key: ["unauthenticated", 401, false, true],
    nobody: ["network_error", 0, true, false],
    left: [],
  });
});

Deno.test("Python: an answer to the upload that is lost, a broken download, wrong bytes → sent again, gone on with, refused", async () => {
  const answer = await python(
    `
from agent_files._sync import download as down, upload as up
upload, download = up.upload, down.download
content = bytes(range(256)) * 4000
lost = []
def lossy_upload(*args):
    result = upload(*args)
    if not lost:
        lost.append(True)
        raise AgentError("network_error", "lost", retryable=True)
    return result
starts = []
def broken_download(http, url, start):
    starts.append(start)
    for chunk in download(http, url, start):
        yield chunk[:1000] if len(starts) < 3 else chunk
        if len(starts) < 3:
            raise AgentError("network_error", "broken", retryable=True)
up.upload, down.download = lossy_upload, broken_download
planner.put("plan", content)
buffer = io.BytesIO()
planner.get("plan", buffer)
down.download = lambda http, url, start: (chunk for chunk in [bytes(len(content))])
wrong = refusal(lambda: planner.get("plan", "wrong"))
print(json.dumps({"same": buffer.getvalue() == content, "starts": starts, "wrong": wrong, "left": os.listdir()}))
`,
    await twoAgents(),
  );
  assert.deepEqual(answer, {
    same: true,
    starts: [0, 1000, 2000],
    wrong: ["download_mismatch", 0, false, false],
    left: [],
  });
});

Deno.test("Python: inbox(wait=True) → what is there, then what comes, each once", async () => {
  const keys = await python(
    `
planner.put("first", b"1", to=[builder_id])
keys = []
for grant in builder.inbox(wait=True):
    keys.append(grant["key"])
    if len(keys) == 3:
        break
    planner.put(["second", "third"][len(keys) - 1], b"2", to=[builder_id])
print(json.dumps(keys))
`,
    await twoAgents(),
  );
  assert.deepEqual(keys, ["first", "second", "third"]);
});

Deno.test("Python: get() by a grant token; a key with a newline; a source that cannot be read; a new file's mode", async () => {
  const answer = await python(
    `
planner.put("plan", b"how")
token = planner.share("plan", None)["token"]
os.umask(0o027)
builder.get(token, "plan")
agent_id, key = os.environ["PLANNER"].split()
def said(act):
    try:
        act()
    except AgentError as error:
        return [error.code, type(error.__cause__).__name__]
    except ValueError as error:
        return [type(error).__name__, key in str(error)]
class Unreadable(io.BytesIO):
    def read(self, *_):
        raise OSError("gone")
print(json.dumps({
    "got": open("plan").read(),
    "mode": oct(os.stat("plan").st_mode & 0o777),
    "stripped": len(list(AgentFiles(os.environ["URL"], key + "\\n", agent_id=agent_id).list())),
    "key": said(lambda: AgentFiles(os.environ["URL"], key + "\\n" + key)),
    "source": said(lambda: planner.put("broken", Unreadable(b"123"))),
    "keys": [artifact["key"] for artifact in planner.list()],
}))
`,
    await twoAgents(),
  );
  assert.deepEqual(answer, {
    got: "how",
    mode: "0o640",
    stripped: 1,
    key: ["ValueError", false],
    source: ["source_unreadable", "OSError"],
    keys: ["plan"],
  });
});

Deno.test("Python: get() where the service names an artifact by a path → unexpected_answer, and no file", async () => {
  const answer = await python(
    `
planner.put("plan", b"how")
call = planner._connection.call
def deceiving(path, request, **options):
    answer = call(path, request, **options)
    return {**answer, "artifact_id": "x/../../../../escape5"} if path == "open" else answer
planner._connection.call = deceiving
print(json.dumps({"refused": refusal(lambda: planner.get("plan", "plan")), "left": os.listdir()}))
`,
    await twoAgents(),
  );
  assert.deepEqual(answer, { refused: ["unexpected_answer", 200, false, false], left: [] });
});

Deno.test("Python: an address without a host → ValueError, and nothing is sent", async () => {
  const said = await python(
    `
try:
    AgentFiles("https:///", "ak_x").put("plan", b"")
except ValueError as error:
    print(json.dumps(str(error)))
`,
    await twoAgents(),
  );
  assert.equal(said, "'https:///' is not a URL of a service: it names no host.");
});

import assert from "node:assert/strict";
import { python, twoAgents } from "./run.ts";

Deno.test("Python: put() and put_folder() of what cannot be read, get() and get_folder() to where nothing can be written → AgentError, and nothing changes", async () => {
  const answer = await python(
    `
def said(act):
    try:
        act()
    except AgentError as error:
        return [error.code, error.status, error.retryable, type(error.__cause__).__name__]
class Unreadable(io.BytesIO):
    def read(self, *_):
        raise PermissionError("gone")
class Unwritable(io.BytesIO):
    def write(self, *_):
        raise OSError(28, "No space left on device")
os.mkfifo("pipe"); os.mkdir("folder"); open("file", "w").close()
before = sorted(os.listdir())
put = [said(act) for act in [
    lambda: planner.put("x", path="missing"),
    lambda: planner.put("x", pathlib.Path("folder")),
    lambda: planner.put("x", Unreadable(b"123")),
    lambda: planner.put_folder("x", "missing"),
    lambda: planner.put_folder("x", "file"),
]]
listed = list(planner.list())
planner.put("plan", b"1")
planner.put_folder("drawings.tar", "folder")
got = [said(act) for act in [
    lambda: planner.get("plan", "missing/plan"),
    lambda: planner.get("plan", "folder"),
    lambda: planner.get("plan", Unwritable()),
    lambda: planner.get_folder("drawings.tar", "missing/drawings"),
]]
print(json.dumps({"put": put, "listed": listed, "got": got,
                  "same": before == sorted(os.listdir()), "folder": os.listdir("folder")}))
`,
    await twoAgents(),
  );
  const unreadable = (cause: string) => ["source_unreadable", 0, false, cause];
  const unwritable = (cause: string) => ["target_unwritable", 0, false, cause];
  assert.deepEqual(answer, {
    put: [
      unreadable("FileNotFoundError"),
      unreadable("IsADirectoryError"),
      unreadable("PermissionError"),
      unreadable("FileNotFoundError"),
      unreadable("NotADirectoryError"),
    ],
    listed: [],
    got: [
      unwritable("FileNotFoundError"),
      unwritable("IsADirectoryError"),
      unwritable("OSError"),
      unwritable("FileNotFoundError"),
    ],
    same: true,
    folder: [],
  });
});

Deno.test("Python: a download is killed → the next one removes its file once it is old, and nothing else", async () => {
  const answer = await python(
    `
import signal, subprocess, sys
planner.put("plan", b"0123456789" * 1000)
killed = """
import os, signal
from agent_files import AgentFiles
from agent_files._sync import download as down
download = down.download
def half(*args):
    for chunk in download(*args):
        yield chunk[:100]
        os.kill(os.getpid(), signal.SIGKILL)
down.download = half
name, key = os.environ["PLANNER"].split()
AgentFiles(os.environ["URL"], key).get("plan", "plan")
"""
assert subprocess.run([sys.executable, "-c", killed]).returncode == -signal.SIGKILL
[left] = os.listdir()
others = [".art_" + "0" * 32 + ".1-0.part", ".art_mine.part", ".agent-settings", "plan.part"]
for name in others:
    open(name, "w").close()
fresh = others[0]
planner.get("plan", "plan")
while_new = left in os.listdir()
long_ago = time.time() - 700
for name in [left, *others[1:]]:
    os.utime(name, (long_ago, long_ago))
planner.get("plan", "plan")
# What may not be listed or removed, such as the files of others in /tmp, is no error.
from agent_files import _local_files
def refused(*_):
    raise PermissionError("not yours")
open(left, "w").close()
os.utime(left, (long_ago, long_ago))
unlink, _local_files.os.unlink = os.unlink, refused
planner.get("plan", "plan")
_local_files.os.unlink = unlink
listdir, _local_files.os.listdir = os.listdir, refused
planner.get("plan", "plan")
_local_files.os.listdir = listdir
os.unlink(left)
print(json.dumps({"left": left, "while_new": while_new, "now": sorted(os.listdir()),
                  "others": sorted([*others, "plan"])}))
`,
    await twoAgents(),
  );
  assert.match(answer.left, /^\.art_[0-9a-f]{32}\..*\.part$/);
  assert.equal(answer.while_new, true);
  assert.deepEqual(answer.now, answer.others);
});

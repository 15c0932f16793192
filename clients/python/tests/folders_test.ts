import assert from "node:assert/strict";
import { join } from "node:path";
import { AgentError } from "../../../packages/agent-files/index.ts";
import { filesOf, registeredKeys } from "../../../packages/agent-files/tests/cast.ts";
import {
  addSpecial,
  describe,
  makeSample,
  SAMPLE,
  withFolder,
} from "../../../packages/agent-files/tests/folders/sample.ts";
import { python, twoAgents } from "./run.ts";

Deno.test("Python: put_folder(), then get_folder() by Python and by TypeScript; putFolder(), then get_folder() → the same folder", () =>
  withFolder(async (folder) => {
    const agents = await twoAgents();
    const [planner, builder] = agents;
    await makeSample(join(folder, "drawings"));
    await addSpecial(join(folder, "drawings"));
    const answer = await python(
      `
import os
os.umask(0o022)
put = planner.put_folder("drawings.tar", FOLDER + "/drawings", to=[builder_id])
got = builder.get_folder(put["artifact_id"], FOLDER + "/by python")
print(json.dumps({
    "entries": len(put["entries"]), "left_out": put["left_out"], "got": got["entries"],
    "mode": oct(os.stat(FOLDER + "/by python").st_mode & 0o777),
}))
`.replaceAll("FOLDER", JSON.stringify(folder)),
      agents,
    );
    const size = Object.keys(SAMPLE).length;
    assert.deepEqual(answer, {
      entries: size + 1,
      left_out: [
        { name: "drawings/link", kind: "symbolic link" },
        { name: "drawings/pipe", kind: "fifo" },
      ],
      got: size,
      mode: "0o755",
    });
    assert.deepEqual(await describe(join(folder, "by python")), SAMPLE);
    const source = { key: "drawings.tar", agentId: planner.id };
    await filesOf(builder).getFolder(source, join(folder, "by typescript"));
    assert.deepEqual(await describe(join(folder, "by typescript")), SAMPLE);

    await filesOf(planner).putFolder("again.tar", join(folder, "drawings"), { to: [builder.id] });
    await python(
      `print(builder.get_folder("again.tar", ${
        JSON.stringify(join(folder, "again"))
      }, from_agent=planner_id)["entries"])`,
      agents,
    );
    assert.deepEqual(await describe(join(folder, "again")), SAMPLE);
  }));

Deno.test("Python: get_folder() to where something is, of a hostile tar, of wrong bytes; put_folder() of no folder, of one that changes → refused, and nothing changes", async () => {
  const answer = await python(
    `
import io, tarfile
from agent_files._sync import download as down, upload as up
os.mkdir("plans"); open("plans/plan", "w").write("contents")
os.mkdir("empty"); open("file", "w").write("kept"); os.symlink("nowhere", "link")
planner.put_folder("plans.tar", "plans")
taken = [refusal(lambda: planner.get_folder("plans.tar", name)) for name in ["empty", "file", "link"]]
buffer = io.BytesIO()
with tarfile.open(fileobj=buffer, mode="w") as tar:
    tar.addfile(tarfile.TarInfo("ok")); tar.addfile(tarfile.TarInfo("../up"))
planner.put("bad.tar", buffer.getvalue())
hostile = refusal(lambda: planner.get_folder("bad.tar", "new"))
download = down.download
down.download = lambda *args: (c.replace(b"contents", b"Contents") for c in download(*args))
wrong = refusal(lambda: planner.get_folder("plans.tar", "new"))
errors = []
for name in ["file", "missing"]:
    try:
        planner.put_folder("no.tar", name)
    except AgentError as error:
        errors.append(type(error.__cause__).__name__)
upload = up.upload
def growing(*args):
    open("plans/plan", "a").write("more")
    return upload(*args)
up.upload = growing
print(json.dumps({
    "taken": taken, "hostile": hostile, "wrong": wrong, "errors": errors,
    "changed": refusal(lambda: planner.put_folder("plans.tar", "plans")),
    "keys": [artifact["key"] for artifact in planner.list()],
    "left": sorted(os.listdir()), "empty": os.listdir("empty"),
}))
`,
    await twoAgents(),
  );
  const refusal = (code: string) => [code, 0, false, false];
  assert.deepEqual(answer, {
    taken: Array(3).fill(refusal("target_exists")),
    hostile: refusal("archive_refused"),
    wrong: refusal("download_mismatch"),
    errors: ["NotADirectoryError", "FileNotFoundError"],
    changed: refusal("source_size_mismatch"),
    keys: ["bad.tar", "plans.tar"],
    left: ["empty", "file", "link", "plans"],
    empty: [],
  });
});

Deno.test("put_folder() and putFolder() of a folder that get would refuse → archive_refused, and nothing is sent; of the deepest that it takes → the same folder", () =>
  withFolder(async (folder) => {
    const agents = await twoAgents();
    const refused: Record<string, string> = {
      "too deep": "lies too deep",
      "too long a path": "has too long a name",
      [`too long for its listing ${"l".repeat(225)}`]: "has too long a name",
    };
    const answer = await python(
      `
def nest(*names):
    # Step by step, as a path may be longer than a call can take.
    os.chdir(FOLDER)
    for name in names:
        os.mkdir(name)
        os.chdir(name)
    open("treasure", "w").write("gold")
    os.chdir(FOLDER)
nest(NAMES[0], *["d"] * 199)
nest(NAMES[1], *["d" * 250] * 17)
nest(NAMES[2])
nest("deepest", *["d"] * 198)
said = {}
for name in NAMES:
    try:
        planner.put_folder("python.tar", FOLDER + "/" + name)
    except AgentError as error:
        said[name] = [error.code, str(error)]
put = planner.put_folder("deepest.tar", FOLDER + "/deepest")
planner.get_folder("deepest.tar", FOLDER + "/by python")
planner.put_folder("shallow.tar", FOLDER + "/" + NAMES[0], exclude=["d/"])
print(json.dumps({"said": said, "entries": len(put["entries"])}))
`.replaceAll("FOLDER", JSON.stringify(folder))
        .replaceAll("NAMES", JSON.stringify(Object.keys(refused))),
      agents,
    );
    const { said, entries } = answer as { said: Record<string, string[]>; entries: number };
    assert.equal(entries, 200);
    const files = filesOf(agents[0]);
    for (const [name, why] of Object.entries(refused)) {
      await assert.rejects(files.putFolder("typescript.tar", join(folder, name)), (error) => {
        assert.ok(error instanceof AgentError);
        assert.deepEqual(said[name], [error.code, error.message]);
        assert.equal(error.code, "archive_refused");
        assert.ok(error.message.endsWith(`" ${why}. Nothing was sent.`), error.message);
        return true;
      });
    }
    await files.getFolder("deepest.tar", join(folder, "by typescript"));
    for (const reader of ["by python", "by typescript"]) {
      const path = join(folder, reader, ...Array(198).fill("d"), "treasure");
      assert.equal(await Deno.readTextFile(path), "gold");
    }
    assert.deepEqual(await registeredKeys(agents[0]), ["deepest.tar", "shallow.tar"]);
  }));

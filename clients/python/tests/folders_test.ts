import assert from "node:assert/strict";
import { join } from "node:path";
import { filesOf } from "../../../packages/agent-files/tests/cast.ts";
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

Deno.test("put_folder() and putFolder() of a folder 1,000 levels deep → all of it, in the same order; getting it as a folder → lies too deep, and nothing is left", () =>
  withFolder(async (folder) => {
    const agents = await twoAgents();
    const deep = join(folder, "deep", ...Array(1000).fill("d"));
    await Deno.mkdir(deep, { recursive: true });
    await Deno.writeTextFile(join(deep, "treasure"), "gold");
    await Deno.writeTextFile(join(folder, "deep", "z"), "last");
    const names = [
      "deep/",
      ...Array.from({ length: 1000 }, (_, n) => `deep/${"d/".repeat(n + 1)}`),
    ];
    const all = [...names, `${names.at(-1)}treasure`, "deep/z"];
    const answer = await python(
      `
import tarfile
put = planner.put_folder("deep.tar", FOLDER + "/deep")
buffer = io.BytesIO()
planner.get("deep.tar", buffer)
buffer.seek(0)
tar = tarfile.open(fileobj=buffer)
content = tar.extractfile([one for one in tar if one.name.endswith("/treasure")][0]).read().decode()
refused = refusal(lambda: planner.get_folder("deep.tar", FOLDER + "/received"))
print(json.dumps({"entries": put["entries"], "content": content, "refused": refused[0],
                  "left": sorted(os.listdir(FOLDER))}))
`.replaceAll("FOLDER", JSON.stringify(folder)),
      agents,
    );
    const { entries, ...others } = answer as { entries: { name: string }[] };
    assert.deepEqual(entries.map(({ name }) => name), all);
    assert.deepEqual(others, { content: "gold", refused: "archive_refused", left: ["deep"] });
    const files = filesOf(agents[0]);
    const put = await files.putFolder("again.tar", join(folder, "deep"));
    assert.deepEqual(put.entries.map(({ name }) => name), all);
    await assert.rejects(files.getFolder("again.tar", join(folder, "received")), {
      code: "archive_refused",
    });
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["deep"]);
  }));

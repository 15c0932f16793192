import assert from "node:assert/strict";
import { mkdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { agentFiles, type ClientOfAgent } from "../../../agent-files/tests/cast.ts";
import { Desk } from "../desk.ts";
import { namesBelow } from "./grants.ts";

const DOWNLOAD = ["inbox", "--download", "received"];

/**
 * Grants `house.txt`, and files that need each of its possible local names as a folder. The inbox
 * lists these files before `house.txt`.
 */
async function takeEveryName({ files }: ClientOfAgent, to: readonly string[]): Promise<string> {
  const { artifact_id } = await files.put("house.txt", "house", { to });
  const mark = artifact_id.slice(4, 12);
  for (const name of ["house.txt", `house.${mark}.txt`, artifact_id]) {
    await files.put(`${name}/z`, "z", { to });
  }
  return artifact_id;
}

/** Asserts that everything that takeEveryName granted has arrived. */
async function assertAllArrived(folder: string, artifactId: string): Promise<void> {
  const mark = artifactId.slice(4, 12);
  const [random = ""] = (await namesBelow(folder)).filter((name) => name.startsWith("art_"))
    .filter((name) => /\.[0-9a-f]{16}$/.test(name));
  assert.equal(await readFile(join(folder, random), "utf8"), "house");
  assert.deepEqual(
    await namesBelow(folder),
    ["house.txt", `house.${mark}.txt`, artifactId].flatMap((name) => [name, `${name}/z`])
      .concat(random).sort(),
  );
}

Deno.test("agentfiles inbox --download where a sender has taken every name → all arrives, of everybody; again → it is already there", async () => {
  const [mallory, planner] = [await agentFiles("mallory"), await agentFiles("planner")];
  await using builder = await Desk.of("builder");
  const to = [builder.agent.id];
  await planner.files.put("older.txt", "older", { to });
  const artifactId = await takeEveryName(mallory, to);

  const { code, errors, output } = await builder.run(DOWNLOAD);
  assert.equal(code, 0, errors);
  assert.equal(errors, "");
  assert.equal(output.trimEnd().split("\n").length, 5);
  const received = builder.path("received");
  await assertAllArrived(join(received, mallory.agent.id), artifactId);
  const older = join(received, planner.agent.id, "older.txt");
  assert.equal(await readFile(older, "utf8"), "older");

  const before = await namesBelow(received);
  const again = await builder.run(DOWNLOAD);
  assert.equal(again.code, 0, again.errors);
  assert.equal(again.output.match(/\(already there\)$/gm)?.length, 5);
  assert.deepEqual(await namesBelow(received), before);
});

Deno.test("agentfiles inbox --follow --download where a sender has taken every name → all arrives, and what comes later", async () => {
  const [mallory, planner] = [await agentFiles("mallory"), await agentFiles("planner")];
  await using builder = await Desk.of("builder");
  const to = [builder.agent.id];
  await planner.files.put("older.txt", "older", { to });
  const artifactId = await takeEveryName(mallory, to);
  await using follower = new Follower(builder);

  const paths: string[] = [];
  for (let arrived = 0; arrived < 5; arrived++) paths.push(await follower.next());
  await planner.files.put("newer.txt", "newer", { to });
  paths.push(await follower.next());
  const own = join("received", planner.agent.id);
  assert.deepEqual(paths.slice(4), [join(own, "older.txt"), join(own, "newer.txt")]);
  await assertAllArrived(builder.path(join("received", mallory.agent.id)), artifactId);
});

/** Runs `agentfiles inbox --follow --download received` until it is disposed of. */
class Follower implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #text: ReadableStreamDefaultReader<string>;
  #lines: string[] = [];

  constructor(desk: Desk) {
    const { args, cwd, env } = desk.command([...DOWNLOAD, "--follow", "--json"], {});
    this.#child = new Deno.Command(Deno.execPath(), { args, cwd, env, stdout: "piped" }).spawn();
    this.#text = this.#child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** The path of the next file that arrives. */
  async next(): Promise<string> {
    while (this.#lines.length === 0) {
      const { value, done } = await this.#text.read();
      assert.ok(!done, "the command has ended");
      this.#lines.push(...value.trimEnd().split("\n"));
    }
    return JSON.parse(this.#lines.shift()!).path;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#text.cancel();
    await this.#child.status;
  }
}

Deno.test("agentfiles inbox --download with a link where a sender's folder should be → the others' files, what to do, exit code 1; without it → that too", async () => {
  const [mallory, planner] = [await agentFiles("mallory"), await agentFiles("planner")];
  await using builder = await Desk.of("builder");
  const to = [builder.agent.id];
  await planner.files.put("older.txt", "older", { to });
  await mallory.files.put("deep/plan.txt", "plan", { to });
  await planner.files.put("newer.txt", "newer", { to });
  await mkdir(builder.path("elsewhere"));
  await mkdir(builder.path("received"));
  const link = builder.path(join("received", mallory.agent.id));
  await symlink(builder.path("elsewhere"), link);

  const { code, errors, output } = await builder.run(DOWNLOAD);
  const own = join("received", planner.agent.id);
  assert.equal(output, `${join(own, "newer.txt")}  5 B\n${join(own, "older.txt")}  5 B\n`, errors);
  assert.match(errors, /^deep\/plan\.txt from mallory-.* is a link or a file, .* Move it away\. /);
  assert.equal(code, 1);
  assert.deepEqual(await namesBelow(builder.path("elsewhere")), []);

  await Deno.remove(link);
  const again = await builder.run(DOWNLOAD);
  assert.equal(again.code, 0, again.errors);
  assert.equal(await readFile(join(link, "deep/plan.txt"), "utf8"), "plan");
});

Deno.test("agentfiles inbox --download into a path that cannot be a folder → refused at once, with exit code 1", async () => {
  const planner = await agentFiles("planner");
  await using builder = await Desk.of("builder");
  for (const key of ["one", "two"]) await planner.files.put(key, key, { to: [builder.agent.id] });
  await Deno.writeTextFile(builder.path("received"), "mine");
  const { code, errors, output } = await builder.run(DOWNLOAD);
  assert.equal(code, 1);
  assert.match(errors, /^agentfiles inbox: EEXIST[^\n]*\n$/);
  assert.equal(output, "");
  assert.equal(await readFile(builder.path("received"), "utf8"), "mine");
});

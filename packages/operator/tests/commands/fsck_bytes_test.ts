import assert from "node:assert/strict";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../../local/project.ts";
import { programOf } from "../../../local/tests/stack/stack_process.ts";
import { stateFiles } from "../../../local/state/state_files.ts";
import { publish } from "../../../../tests/database/own_artifacts.ts";
import { type OwnStack, withOwnStack } from "../../../../tests/database/own_stack.ts";
import { startProxy } from "../../../../tests/own_function/proxy.ts";
import { codeOf, fsck } from "./fsck.ts";

interface Event {
  readonly type: string;
  readonly artifact_id: string;
  readonly key: string;
  readonly actor_kind: string;
}

/** The file with an artifact's bytes. */
async function fileOf({ sql, stack }: OwnStack, artifactId: string): Promise<string> {
  const [row] = await sql`
    select version from storage.objects where name = ${`sealed/${artifactId}/1`}`;
  return join(stateFiles(stack.stateDir).storage, "objects", row!["version"]);
}

/** The artifacts whose lost bytes were told. */
function lostIn(output: string): string[] {
  return Array.from(output.matchAll(/^lost bytes: (\w+) /gm), ([, id]) => id!);
}

async function fatesOf({ ask }: OwnStack): Promise<string[]> {
  const types = ["artifact.lost", "artifact.recovered"];
  const { events } = await ask<{ events: Event[] }>("/events", { agent_id: "planner", types });
  return events.map(({ type, artifact_id, key, actor_kind }) =>
    `${type} ${artifact_id} ${key} ${actor_kind}`
  );
}

Deno.test("fsck --bytes of artifacts whose bytes Storage lost → one line each, /open, /fetch and links answer 410 artifact_lost, the owner has an event; once the bytes are back, the mark goes", async () => {
  await withOwnStack(async (own) => {
    const { ask, sql } = own;
    const kept = await publish(own, "kept");
    const lost = await publish(own, "lost");
    const withoutRow = await publish(own, "without a row");
    await publish(own, "empty", "");
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const { token } = await ask<{ token: string }>("/grant", { artifact_id: lost, expires_at });
    assert.deepEqual(await fsck(own, "--bytes"), { code: 0, lines: [], errors: "" });

    const file = await fileOf(own, lost);
    await rename(file, `${file}.gone`);
    await sql`update storage.objects set name = 'sealed/elsewhere' where name = ${`sealed/${withoutRow}/1`}`;
    assert.deepEqual((await fsck(own)).lines.filter((line) => line.includes(lost)), []);
    assert.equal(await codeOf(own, "/open", { artifact_id: lost }), "200", "nobody has looked");

    const found = await fsck(own, "--bytes");
    assert.equal(found.code, 1);
    assert.deepEqual(
      found.lines.filter((line) => line.startsWith("lost bytes")).sort(),
      [
        `lost bytes: ${lost} sealed/${lost}/1: Storage cannot read it`,
        `lost bytes: ${withoutRow} sealed/${withoutRow}/1: Storage has no such object`,
      ].sort(),
    );
    for (const artifact_id of [lost, withoutRow]) {
      assert.equal(await codeOf(own, "/open", { artifact_id }), "410 artifact_lost");
    }
    assert.equal(await codeOf(own, "/fetch", { grant_token: token }), "410 artifact_lost");
    assert.equal(await codeOf(own, `/d/${token}`, {}), "410 artifact_lost");
    assert.equal(await codeOf(own, "/open", { artifact_id: kept }), "200");
    const marked = (await fatesOf(own)).sort();
    assert.deepEqual(
      marked,
      [
        `artifact.lost ${lost} lost operator`,
        `artifact.lost ${withoutRow} without a row operator`,
      ].sort(),
    );
    assert.equal((await fsck(own, "--bytes")).code, 1, "as long as they are lost");
    assert.deepEqual((await fatesOf(own)).sort(), marked, "told once");

    await rename(`${file}.gone`, file);
    const back = await fsck(own, "--bytes");
    assert.ok(back.lines.includes(`bytes are back: ${lost} sealed/${lost}/1`));
    assert.equal(await codeOf(own, "/open", { artifact_id: lost }), "200");
    assert.ok((await fatesOf(own)).includes(`artifact.recovered ${lost} lost operator`));
  });
});

Deno.test("fsck --bytes --digests 100% → finds other bytes of the same size; a later check by size alone does not take the mark away", async () => {
  await withOwnStack(async (own) => {
    const changed = await publish(own, "changed");
    await publish(own, "kept");
    await writeFile(await fileOf(own, changed), "CHANGED");
    assert.deepEqual(await fsck(own, "--bytes"), { code: 0, lines: [], errors: "" });
    const expected = {
      code: 1,
      lines: [`lost bytes: ${changed} sealed/${changed}/1: its SHA-256 is another one`],
      errors: "",
    };
    assert.deepEqual(await fsck(own, "--bytes", "--digests", "100%"), expected);
    assert.equal(await codeOf(own, "/open", { artifact_id: changed }), "410 artifact_lost");
    assert.deepEqual(await fsck(own, "--bytes"), expected);
  });
});

Deno.test("fsck --bytes where Storage can read nothing → says so, marks nothing; --from goes on behind an artifact", async () => {
  await withOwnStack(async (own) => {
    const ids = [await publish(own, "one"), await publish(own, "two")].sort();
    const files = await Promise.all(ids.map((id) => fileOf(own, id)));
    for (const file of files) await rename(file, `${file}.gone`);
    const line = (id: string) =>
      `unreadable, not marked: ${id} sealed/${id}/1: Storage could read no object at all`;
    const { code, lines } = await fsck(own, "--bytes", "--rate", "500");
    assert.deepEqual([code, lines.sort()], [1, ids.map(line)]);
    assert.equal(await codeOf(own, "/open", { artifact_id: ids[0] }), "200");
    assert.deepEqual(await fatesOf(own), []);
    assert.deepEqual((await fsck(own, "--bytes", "--from", ids[0]!)).lines, [line(ids[1]!)]);
  });
});

Deno.test("fsck --bucket-is-lost → without --yes says what it would do and changes nothing; with it, marks what Storage cannot read, although it can read nothing; what is published since stays", async () => {
  await withOwnStack(async (own) => {
    const { ask, sql } = own;
    const ids = [await publish(own, "one"), await publish(own, "two")].sort();
    for (const id of ids) {
      const file = await fileOf(own, id);
      await rename(file, `${file}.gone`);
    }
    const rows = () => sql`select a::text from artifacts.artifacts a order by 1`;
    const before = await rows();
    const asked = await fsck(own, "--bucket-is-lost");
    assert.deepEqual([asked.code === 0, asked.lines], [false, []]);
    assert.match(asked.errors, /the bytes of 2 artifacts, .* Nothing was changed: pass --yes/);
    const [first] = ids;
    assert.equal(await codeOf(own, "/open", { artifact_id: first }), "200");
    assert.deepEqual(await rows(), before);
    assert.match((await fsck(own, "--bytes")).errors, /fsck --bucket-is-lost/);
    assert.deepEqual(await rows(), before);

    const line = (id: string) => `lost bytes: ${id} sealed/${id}/1: Storage cannot read it`;
    const marked = await fsck(own, "--bucket-is-lost", "--yes");
    assert.deepEqual([marked.code, marked.lines], [0, ids.map(line)]);
    assert.match(marked.errors, /the bytes of 2 artifacts/);
    for (const artifact_id of ids) {
      assert.equal(await codeOf(own, "/open", { artifact_id }), "410 artifact_lost");
    }
    assert.equal((await fatesOf(own)).length, 2);
    const checked = await fsck(own, "--bytes");
    assert.deepEqual([checked.code, checked.lines], [1, ids.map(line)]);

    const since = await publish(own, "one");
    assert.equal(await codeOf(own, "/open", { artifact_id: since }), "200");
    assert.equal(await codeOf(own, "/open", { agent_id: "planner", key: "one" }), "200");
    const again = await fsck(own, "--bucket-is-lost", "--yes");
    assert.deepEqual([again.code, again.lines], [0, ids.map(line)]);
    assert.equal(await codeOf(own, "/open", { artifact_id: since }), "200");
    for (const artifact_id of ids) await ask("/delete", { artifact_id });
    await ask("/sweep");
    assert.deepEqual((await fsck(own, "--bytes")).lines, []);
  });
});

Deno.test("fsck --bucket-is-lost where the bucket itself is missing → says how to make it, and marks nothing", async () => {
  await withOwnStack(async (own) => {
    const { sql } = own;
    const artifact_id = await publish(own, "one");
    await sql.begin(async (transaction) => {
      await transaction`set local storage.allow_delete_query = 'true'`;
      await transaction`delete from storage.objects`;
      await transaction`delete from storage.buckets`;
    });
    const rows = () => sql`select a::text from artifacts.artifacts a order by 1`;
    const before = await rows();
    const refused = await fsck(own, "--bucket-is-lost", "--yes");
    assert.equal(refused.code, 1);
    assert.match(refused.errors, /no bucket agent-artifacts\. Make it first: agentops doctor/);
    assert.deepEqual(await rows(), before);
    await sql`
      insert into storage.buckets (id, name, public)
      values ('agent-artifacts', 'agent-artifacts', false)`;
    const marked = await fsck(own, "--bucket-is-lost", "--yes");
    assert.ok(
      marked.lines.includes(
        `lost bytes: ${artifact_id} sealed/${artifact_id}/1: Storage has no such object`,
      ),
    );
    assert.equal(await codeOf(own, "/open", { artifact_id }), "410 artifact_lost");
  });
});

Deno.test("fsck --repair of totals changed by hand, an agent's and the project's → they are what the rows come to", async () => {
  await withOwnStack(async (own) => {
    const { sql } = own;
    await publish(own, "kept");
    const totals = () => sql`select * from artifacts.totals order by agent_id`;
    const right = await totals();
    await sql`update artifacts.totals set committed = committed + 5, pending_bytes = 7`;
    const before = await fsck(own);
    assert.equal(before.code, 1);
    assert.match(before.lines[0]!, /^totals of planner are /);
    assert.match(before.lines[1]!, /^totals of the project lack \{"committed":5,/);
    assert.equal((await fsck(own, "--repair")).code, 0);
    assert.deepEqual(await totals(), right);
    assert.deepEqual(await fsck(own), { code: 0, lines: [], errors: "" });
    await sql`update artifacts.project_totals set committed = committed - 1`;
    assert.deepEqual((await fsck(own)).code, 1);
    assert.equal((await fsck(own, "--repair")).code, 0);
    assert.deepEqual(await fsck(own), { code: 0, lines: [], errors: "" });
  });
});

Deno.test("fsck with options that do not fit → one sentence", async () => {
  await withOwnStack(async (own) => {
    for (
      const args of [
        ["--rate", "5"],
        ["--bytes", "--rate", "0"],
        ["--bytes", "--digests", "101%"],
        ["--yes"],
      ]
    ) {
      const { code, lines, errors } = await fsck(own, ...args);
      assert.deepEqual([code, lines, errors.trim().split("\n").length], [1, [], 1]);
    }
  });
});

Deno.test("fsck --bytes, Ctrl-C → the findings until then, where to go on, exit code 130; from there → every artifact once", async () => {
  await withOwnStack(async (own) => {
    const { sql, stack } = own;
    const published: string[] = [];
    for (let number = 0; number < 12; number++) {
      published.push(await publish(own, `file-${number}`));
    }
    // Each has lost its row, so each is told when it has been checked.
    await sql`update storage.objects set name = 'elsewhere/' || name`;
    await using proxy = startProxy(stack.url);
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--allow-all", ...programOf("agentops fsck"), "--bytes", "--rate", "4"],
      cwd: PROJECT,
      env: { SUPABASE_URL: proxy.url, SUPABASE_SECRET_KEY: stack.secretKey },
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    let asked = 0;
    proxy.intercept(({ path }) => {
      if (path.includes("/storage/v1/object/") && ++asked === 2) child.kill("SIGINT");
    });
    const output = child.output();
    const { code, stdout, stderr } = await output;
    assert.equal(code, 130);
    const [told, notes] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    const from = /(\d+) artifacts checked\. To go on from here: --from (art_\w+)/.exec(notes!);
    assert.ok(from !== null, notes!);
    const first = lostIn(told!);
    assert.equal(first.length, Number(from[1]));
    assert.ok(first.length > 0 && first.length < published.length, `${first.length}`);

    const rest = await fsck(own, "--bytes", "--from", from[2]!);
    const second = lostIn(rest.lines.join("\n"));
    assert.deepEqual([...first, ...second].sort(), published.toSorted());
  });
});

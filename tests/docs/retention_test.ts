import assert from "node:assert/strict";
import { SECRET_KEY, SUPABASE_URL } from "../conformance/client.ts";
import { withProjectDatabase } from "../database/connection.ts";
import { installExtensionStandIns } from "../database/extension_stand_ins.ts";
import { documentedBlock } from "./blocks/documentation.ts";
import { filledIn } from "./blocks/placeholders.ts";
import { Terminal } from "./blocks/terminal.ts";

Deno.test("docs/retention.md, /sweep → answers with the counts that the page shows", async () => {
  await using terminal = await Terminal.open();
  const answer = await terminal.paste(
    filledIn(await documentedBlock("docs/retention.md, /sweep, 1")),
  );
  const shown = JSON.parse(await documentedBlock("docs/retention.md, /sweep, 2"));
  const counts = JSON.parse(answer);
  assert.deepEqual(Object.keys(counts).sort(), Object.keys(shown).sort());
  assert.ok(Object.values(counts).every(Number.isInteger), answer);
});

Deno.test("docs/retention.md, Schedule it → a job that sends the secret key to /sweep, another time, no job", async () => {
  const schedule = filledIn(await documentedBlock("docs/retention.md, Schedule it, 1"));
  const change = filledIn(await documentedBlock("docs/retention.md, Schedule it, 2"));
  await withProjectDatabase({}, async (sql) => {
    await installExtensionStandIns(sql);
    await sql.unsafe(schedule);
    const jobs = await sql`select * from cron.job`;
    assert.deepEqual(jobs.map(({ jobname, schedule }) => [jobname, schedule]), [
      ["agent-artifacts-sweep", "*/2 * * * *"],
    ]);
    const [request] = await sql.unsafe(jobs[0]!["command"]);
    assert.equal(request!["http_post"].url, `${SUPABASE_URL}/functions/v1/agent-artifacts/sweep`);
    assert.equal(request!["http_post"].headers.apikey, SECRET_KEY);

    const [rarer, otherSecrets, ended] = change.trim().split("\n") as [string, string, string];
    await sql.unsafe(rarer);
    const [job, ...others] = await sql`select schedule from cron.job`;
    assert.deepEqual([job!["schedule"], others], ["*/5 * * * *", []]);
    await sql.unsafe(otherSecrets);
    assert.equal((await sql`select from cron.job`).length, 1);
    await sql.unsafe(ended);
    assert.equal((await sql`select from cron.job`).length, 0);
  });
});

Deno.test("docs/retention.md, After a restore → fsck names what it finds, in the words of the page", async () => {
  await using terminal = await Terminal.open();
  // Other tests lose bytes on purpose, so fsck may find some.
  const fsck = (await documentedBlock("docs/retention.md, After a restore, 1")).trimEnd();
  const lines = (await terminal.paste(`${fsck} || [[ $? == 1 ]]`)).split("\n");
  const finding = /^(?:artifact without bytes: art_\w+ sealed\/\S+|bytes without artifact: \S+|)$/;
  assert.deepEqual(lines.filter((line) => !finding.test(line)), []);
});

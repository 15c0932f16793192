import assert from "node:assert/strict";
import type postgres from "postgres";
import { withProjectDatabase } from "../connection.ts";
import { installExtensionStandIns } from "../extension_stand_ins.ts";

async function jobs(sql: postgres.Sql) {
  return [
    ...await sql<{ jobname: string; schedule: string; command: string }[]>`select * from cron.job`,
  ];
}

Deno.test("schedule_sweep() without pg_cron, pg_net and the Vault → an error that names all three", async () => {
  await withProjectDatabase({}, async (sql) => {
    await assert.rejects(sql`select public.agent_api_schedule_sweep()`, {
      code: "55000",
      message: "The sweep cannot be scheduled in this database without: the extension pg_cron, " +
        "the extension pg_net, the extension supabase_vault.",
    });
  });
});

Deno.test("schedule_sweep() without the secrets in the Vault → an error that names them, and no job", async () => {
  await withProjectDatabase({}, async (sql) => {
    await installExtensionStandIns(sql);
    await assert.rejects(
      sql`select public.agent_api_schedule_sweep(key_secret => 'my key')`,
      /without: the Vault secret 'project_url', the Vault secret 'my key'\./,
    );
    assert.deepEqual(await jobs(sql), []);
  });
});

Deno.test("schedule_sweep() → one job, which POSTs to /sweep with the key of that moment in apikey; again: still one", async () => {
  await withProjectDatabase({}, async (sql) => {
    await installExtensionStandIns(sql);
    await sql`
      select vault.create_secret('https://project.example', 'project_url'),
        vault.create_secret('sb_secret_old', 'secret_key')`;
    await sql`select public.agent_api_schedule_sweep()`;
    await sql`select public.agent_api_schedule_sweep('*/5 * * * *')`;
    const [job, ...others] = await jobs(sql);
    assert.deepEqual([job!.jobname, job!.schedule, others], [
      "agent-artifacts-sweep",
      "*/5 * * * *",
      [],
    ]);
    assert.equal(job!.command.includes("sb_secret"), false);

    await sql`update vault.decrypted_secrets set decrypted_secret = 'sb_secret_new' where name = 'secret_key'`;
    const [posted] = await sql.unsafe(job!.command);
    assert.deepEqual(posted!["http_post"], {
      url: "https://project.example/functions/v1/agent-artifacts/sweep",
      body: { limit: 1000 },
      headers: { apikey: "sb_secret_new", "content-type": "application/json" },
      timeout: 60_000,
    });
  });
});

import assert from "node:assert/strict";
import { PROJECT } from "../../../local/project.ts";
import {
  createAgent,
  operatorRpc,
  SECRET_KEY,
  SUPABASE_URL,
} from "../../../../tests/conformance/client.ts";
import { commandFilesIn, exampleArgs } from "./every_command.ts";
import { withOwnStack } from "../../../../tests/database/own_stack.ts";
import { programOf } from "../../../local/tests/stack/stack_process.ts";

/** Runs a task whose output nobody reads, or whose reader stops after the first line. */
async function piped(
  reader: "true" | "head -1",
  [task, ...args]: readonly [string, ...string[]],
  environment = {},
) {
  // The pipe is closed before Deno has started, or while it writes.
  const script = `"$@" | ${reader} >/dev/null; echo "\${PIPESTATUS[0]}"`;
  const { stdout, stderr } = await new Deno.Command("bash", {
    args: [
      "-c",
      script,
      "bash",
      Deno.execPath(),
      "run",
      "--allow-all",
      ...programOf(task),
      ...args,
    ],
    cwd: PROJECT,
    env: { SUPABASE_URL, SUPABASE_SECRET_KEY: SECRET_KEY, ...environment },
  }).output();
  return {
    code: Number(new TextDecoder().decode(stdout)),
    errors: new TextDecoder().decode(stderr),
  };
}

Deno.test("every task that reads, whose reader goes away → ends by itself, with no stack trace", async () => {
  const { id } = await createAgent("piped");
  try {
    const reports = await commandFilesIn("reports/");
    const tasks: readonly [string, ...string[]][] = [
      ["agentops events", "--all", "--json"],
      ["agentops events", "--endings", "--all"],
      ["agentops mesh"],
      ...reports.map((file): [string, ...string[]] => [
        file.words!,
        ...exampleArgs(file, { planner: id, builder: id, "reports/july.pdf": id }),
      ]),
      ["agentops enrolment list"],
      ["agentops fsck", "--help"],
      ["agentops agent revoke", id, "--dry-run"],
    ];
    for (const args of tasks) {
      const { code, errors } = await piped("true", args);
      assert.equal(code, 0, `${args}: ${errors}`);
      assert.doesNotMatch(errors, /EPIPE|at .*\.ts:|Uncaught/, args.join(" "));
    }
    const { code, errors } = await piped("head -1", tasks[0]!);
    assert.deepEqual([code, errors], [0, ""]);
  } finally {
    await operatorRpc("remove_agent", { agent_id: id });
  }
});

Deno.test("after-restore whose reader goes away → does all of its work: the record is replayed to its end", async () => {
  await withOwnStack(async ({ sql, stack }) => {
    const folder = await Deno.makeTempDir();
    try {
      const ids: string[] = [];
      for (let number = 0; number < 3; number++) {
        const [row] = await sql`select public.agent_api_create_agent_key('planner') as made`;
        ids.push(row!["made"].key_id);
      }
      const record = `${folder}/record.jsonl`;
      await Deno.writeTextFile(record, ids.join("\n"));
      const { code, errors } = await piped(
        "true",
        ["agentops restore after", "--record", record],
        { SUPABASE_URL: stack.url, SUPABASE_SECRET_KEY: stack.secretKey },
      );
      assert.deepEqual([code, errors], [0, ""]);
      const live = await sql`select from agents.keys where revoked_at is null`;
      assert.equal(live.length, 0);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
});

import assert from "node:assert/strict";
import { join } from "node:path";
import { runTask } from "../../../../local/tests/stack/stack_process.ts";

const FINGERPRINT = "0".repeat(64);
const NOTHING = { rules: 0, pairs: 0 };
const PLAN = {
  fingerprint: FINGERPRINT,
  in_force: null,
  tags: {},
  changed_agents: 1,
  gained: { rules: 1, pairs: 1 },
  lost: NOTHING,
  rules: { added: 1, removed: 0 },
};
/** As PostgREST reports it. */
const TOO_LONG = {
  code: "57014",
  details: null,
  hint: null,
  message: "canceling statement due to statement timeout",
};

/** Runs policy apply where a statement has time for `most` of `changes`. */
async function apply({ changes, most }: { changes: number; most: number }) {
  const asked: number[] = [];
  let left = changes;
  const rpc: Record<string, (parameters: { max_changes?: number }) => Response> = {
    plan_policy: () => Response.json(PLAN),
    apply_policy({ max_changes = 5_000 }) {
      asked.push(max_changes);
      if (Math.min(max_changes, left) > most) return Response.json(TOO_LONG, { status: 500 });
      const added = Math.min(max_changes, left);
      left -= added;
      return Response.json({ fingerprint: FINGERPRINT, added, removed: 0, remaining: left });
    },
  };
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => rpc[request.url.split("/rpc/agent_api_")[1]!]!(await request.json()),
  );
  const folder = await Deno.makeTempDir({ prefix: "policy-" });
  try {
    const file = join(folder, "policy.jsonc");
    await Deno.writeTextFile(file, JSON.stringify({ rules: [] }));
    const applied = await runTask("agentops policy apply", {
      args: [file, "--expect", FINGERPRINT, "--yes"],
      environment: {
        SUPABASE_URL: `http://127.0.0.1:${server.addr.port}`,
        SUPABASE_SECRET_KEY: "secret",
      },
    });
    return { asked, left, ...applied };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("policy apply where a statement's time ends → halves its steps, goes on with these, and adds up what was changed", async () => {
  const { asked, left, code, output, errors } = await apply({ changes: 3_000, most: 1_300 });
  assert.equal(code, 0, errors);
  assert.deepEqual(asked, [5_000, 2_500, 1_250, 1_250, 1_250]);
  assert.equal(left, 0);
  assert.equal(output, "The policy is in force: 3000 rules added, 0 removed.");
  assert.match(errors, /The statement took too long\. Going on with 1250 changes at a time\./);
});

Deno.test("policy apply where a statement has no time for a single change → fails after a step of one, and nothing is changed", async () => {
  const { asked, left, code, errors } = await apply({ changes: 3, most: 0 });
  assert.equal(code, 1);
  assert.deepEqual(asked.slice(-3), [4, 2, 1]);
  assert.equal(left, 3);
  assert.match(errors, /apply_policy was refused \(HTTP 500\): canceling statement/);
});

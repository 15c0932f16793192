import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { chosenSeed } from "../seeds/random.ts";
import { checkHistory } from "./checker/check_history.ts";
import { DELIVERY, type Entry, type Violation } from "./history.ts";
import { runHistory } from "./run_history.ts";

const SECONDS = Number(Deno.env.get("HISTORY_SECONDS") ?? 120);
const MOST_SHOWN = 10;

/** What must have succeeded at least once. Without it, the run shows nothing. */
const OPERATIONS = [
  ...["register", "commit", "grant", "revoke", "fetch", "open", "inbox", "list", "delete", "sweep"]
    .map((name) => `/agent-artifacts/${name}`),
  ...["versions", "grants", "standing/create", "standing/list", "standing/end"]
    .map((name) => `/agent-artifacts/${name}`),
  ...["take", "extend", "done", "fail", "requeue"].map((name) => `/agent-artifacts/inbox/${name}`),
  ...["peer/register", "peer/heartbeat", "peer/remove", "netmap", "acl/put", "acl/revoke"]
    .map((name) => `/agent-mesh/${name}`),
  ...["wg_config", "psk/rotate"].map((name) => `/agent-mesh/${name}`),
  ...["put", "deliver"].map((name) => `/agent-artifacts/webhooks/${name}`),
  ...["remove_agent", "readmit_agent"].map((name) => `rpc/${name}`),
];

Deno.test(`44 clients for ${SECONDS} s while every part is killed → a history that the contract allows`, async () => {
  const seed = chosenSeed();
  console.log(`SEED=${seed}`);
  const { history, kills, contradictions } = await runHistory({ seed, seconds: SECONDS });
  console.log(describe(history));
  for (const [part, count] of kills) console.log(`  killed ${count} times: ${part}`);

  const violations = checkHistory(history);
  if (violations.length > 0) {
    const file = await Deno.makeTempFile({ prefix: "history-", suffix: ".json" });
    await writeFile(file, JSON.stringify(history));
    console.log(`The history is in ${file}.`);
  }
  assert.deepEqual(violations.slice(0, MOST_SHOWN).map(summarise), [], `SEED=${seed}`);
  assert.equal(contradictions, "");
  const succeeded = new Set(
    history.filter(({ status }) => status === 200).map(({ operation }) => operation),
  );
  const delivered = history.filter(({ operation, status }) =>
    operation === DELIVERY && status === 204
  );
  console.log(`  ${delivered.length} deliveries of webhooks`);
  assert.ok(delivered.length > 0);
  assert.deepEqual(OPERATIONS.filter((operation) => !succeeded.has(operation)), []);
});

function describe(history: readonly Entry[]): string {
  const statuses = Map.groupBy(history, ({ status }) => status);
  const counts = [...statuses].sort(([a], [b]) => a - b)
    .map(([status, entries]) => `${status || "no answer"}: ${entries.length}`);
  return `${history.length} requests; ${counts.join(", ")}`;
}

/** Leaves out the answers, because they contain tokens. */
function summarise({ rule, entries }: Violation) {
  const sequence = entries.map(({ operation, agent, start, end, status }) =>
    `${agent} ${operation} ${Math.round(start)}–${Math.round(end)} ms: ${status}`
  );
  return { rule, sequence };
}

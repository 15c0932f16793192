import assert from "node:assert/strict";
import type { FunctionOptions, RunningFunction } from "../../packages/local/stack/functions.ts";
import { stackEncryptionKeys } from "../own_function/mesh_function.ts";
import { type OwnFunction, startOwnFunction } from "../own_function/own_function.ts";
import { OWN_RELAY } from "../own_function/relay/relays.ts";
import { chosenSeed, Random } from "../seeds/random.ts";
import { assertKeepsContract } from "./judge.ts";
import { type Mutant, mutate } from "./mutants.ts";
import { arrangeValidRequests } from "./valid_requests.ts";

export const MUTANTS = 20_000;
/** How many mutants share the same agents. A mutant may remove a peer or delete an artifact. */
const MUTANTS_PER_CAST = 1000;
const AT_ONCE = 16;
const MOST_COMPLAINTS = 20;

/**
 * Sends mutations of valid requests to both functions. Fails if an answer is a 5xx, or is not what
 * the contract describes. `start` decides which Deno runs the functions.
 */
export async function assertMutantsAreAnswered(
  start: (options: FunctionOptions) => Promise<RunningFunction>,
): Promise<void> {
  const seed = chosenSeed();
  console.log(`SEED=${seed}`);
  const keys = { PSK_ENCRYPTION_KEYS: await stackEncryptionKeys() };
  await using artifacts = await startOwnFunction({ start, environment: keys });
  const environment = { ...keys, ...OWN_RELAY };
  await using mesh = await startOwnFunction({ name: "agent-mesh", start, environment });
  const target = { seed, functions: [artifacts, mesh] };
  const statuses = new Map<string, number>();
  const complaints: string[] = [];
  const random = new Random(seed);
  for (let sent = 0; sent < MUTANTS; sent += MUTANTS_PER_CAST) {
    const valid = await arrangeValidRequests();
    const mutants = Array.from(
      { length: MUTANTS_PER_CAST },
      () => mutate(random.pick(valid), random),
    );
    await inParallel(mutants, async (mutant) => {
      const answer = await judge(mutant, target.functions);
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      if (answer.complaint !== null) complaints.push(answer.complaint);
    });
    if (complaints.length >= MOST_COMPLAINTS) break;
  }
  console.log([...statuses].sort().map(([status, count]) => `${status}: ${count}`).join(", "));
  assert.deepEqual(complaints, [], `SEED=${seed}`);
}

async function judge(
  mutant: Mutant,
  functions: readonly OwnFunction[],
): Promise<{ status: string; complaint: string | null }> {
  const { process } = functions.find(({ process: { name } }) =>
    mutant.path.startsWith(`/${name}/`)
  )!;
  const { method, path, headers, body } = mutant;
  let status = "none";
  try {
    const response = await fetch(process.url + path, {
      method,
      headers,
      redirect: "manual",
      ...(method === "GET" ? {} : { body }),
    });
    status = String(response.status);
    await assertKeepsContract(mutant, response);
    await response.body?.cancel();
    return { status, complaint: null };
  } catch (error) {
    const text = new TextDecoder().decode(body).slice(0, 500);
    return { status, complaint: `${method} ${path} ${text}: ${error}` };
  }
}

/** Handles all items, with AT_ONCE in parallel. */
async function inParallel<Item>(
  items: readonly Item[],
  handle: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = [...items];
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
      await handle(item);
    }
  }));
}

import assert from "node:assert/strict";
import { assertError, SUPABASE_URL } from "../conformance/client.ts";
import { artifactTest, type Cast } from "../conformance/artifacts.ts";
import { CALLS, requestFor } from "../faults/operations.ts";
import { startOwnFunction } from "../own_function/own_function.ts";
import { gate, overloaded, startProxy } from "../own_function/proxy.ts";

/** Operations with the call that hangs: each one's first call in the first round, and so on. */
function rounds(): Map<string, string>[] {
  const collected: Map<string, string>[] = [];
  for (const [path, calls] of Object.entries(CALLS)) {
    for (const [index, call] of calls.entries()) {
      // It is waited for, which slow_move_test.ts tries.
      if (call === "/object/move") continue;
      collected[index] ??= new Map();
      collected[index].set(path, call);
    }
  }
  return collected;
}

artifactTest(
  "every operation while one of its calls is never answered → 503 with retry-after; repeated → 200",
  async (cast) => {
    // All rounds at once, because each takes as long as a deadline.
    await Promise.all(rounds().map((hanging) => hangAndRepeat(hanging, cast)));
  },
);

/** One round, by a function and a proxy of its own. */
async function hangAndRepeat(hanging: ReadonlyMap<string, string>, cast: Cast): Promise<void> {
  const end = gate();
  await using proxy = startProxy(SUPABASE_URL);
  await using own = await startOwnFunction({ supabaseUrl: proxy.url });
  const bodies = new Map<string, object>();
  for (const path of hanging.keys()) bodies.set(path, await requestFor(path, cast));

  const calls = [...hanging.values()];
  proxy.intercept(({ path }) =>
    calls.some((call) => path.includes(call)) ? end.wait().then(overloaded) : undefined
  );
  const answers = await Promise.all(
    [...bodies].map(([path, body]) => own.post(path, { as: cast.planner, body })),
  );
  for (const answer of answers) {
    assertError(answer, 503, "upstream_unavailable");
    assert.ok(Number(answer.headers.get("retry-after")) > 0);
  }
  end.open();
  proxy.letPass();
  for (const [path, body] of bodies) {
    const repeated = await own.post(path, { as: cast.planner, body });
    assert.equal(repeated.status, 200, `${path}: ${JSON.stringify(repeated.body)}`);
  }
}

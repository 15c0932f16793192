import assert from "node:assert/strict";
import { withStackDatabase } from "../connection.ts";

/** Functions that write for a caller without admitting it, and that are not operator-only. */
const OTHERS = [
  // Undoes a registration of the same request, even if the caller's access has ended meanwhile.
  "discard_registration",
  // The proof of origin is the credential: no agent is admitted before it has a key.
  "enrol_with_key",
  "enrol_with_token",
  // Ends the caller's access, and locks out its writes by end_access().
  "leave",
  // The grant token is the credential.
  "redeem_grant_token",
  // Only records why an enrolment was refused.
  "refuse_token",
];

Deno.test("every SQL function that writes for a caller → admits it first, or is the operator's, or is listed here", async () => {
  await withStackDatabase(async (sql) => {
    const functions = await sql<{ name: string; source: string }[]>`
      select split_part(f.proname, 'agent_api_', 2) as name, f.prosrc as source
      from pg_proc f
      where f.pronamespace = 'public'::regnamespace
        and f.provolatile = 'v'
        and 'caller' = any (f.proargnames)
      order by f.proname`;
    const admitting = functions.filter(({ source }) => {
      const admission = /agents\.(?:admit|authenticate_operator)\((\w+)\.caller\)/.exec(source);
      const change = /\b(?:insert into|update \w+\.\w+|delete from|perform (?!agents\.)\w+\.)/.exec(
        source,
      );
      return admission !== null && (change === null || admission.index < change.index);
    });
    const others = functions.filter((one) => !admitting.includes(one)).map(({ name }) => name);
    assert.deepEqual(others, OTHERS);
    assert.ok(admitting.length > 20, String(admitting.length));
  });
});

Deno.test("every SQL function that locks agents of the mesh for an agent → takes one of the agent's turns first", async () => {
  await withStackDatabase(async (sql) => {
    const functions = await sql<{ name: string; source: string }[]>`
      select split_part(f.proname, 'agent_api_', 2) as name, f.prosrc as source
      from pg_proc f
      where f.pronamespace = 'public'::regnamespace
        and f.prosrc like '%agents.admit(%'
        and f.prosrc like '%mesh.lock_agents(%'
      order by f.proname`;
    assert.ok(functions.length > 3, String(functions.length));
    const turnless = functions
      .filter(({ source }) => !/mesh\.take_turn\([\s\S]*mesh\.lock_agents\(/.test(source))
      .map(({ name }) => `${name} in supabase/schemas/mesh/ calls mesh.lock_agents without a turn`);
    assert.deepEqual(turnless, []);
  });
});

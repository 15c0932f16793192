import assert from "node:assert/strict";
import * as fc from "fast-check";
import { meshDatabaseForThisFile } from "./mesh_database.ts";

const file = meshDatabaseForThisFile();

const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const agentId = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$/);
/** Ids of few different characters, so that many reduce to the same label. */
const similarId = fc.stringMatching(/^[aA0][aA0.-]{0,5}$/);

/** The names of these agents, in their order. */
async function namesOf(ids: readonly string[]): Promise<string[]> {
  const rows = await file.mesh.service<{ name: string }[]>`
    select mesh.name_of(agent_id) as name
    from unnest(${[...ids]}::text[]) with ordinality as named (agent_id, place)
    order by place`;
  return rows.map(({ name }) => name);
}

Deno.test("an identifier that is a label → the name", async () => {
  for (const id of ["builder", "ci-build-7", "a", "7a", "a".repeat(63), "10-213-0-1"]) {
    assert.deepEqual(await namesOf([id]), [id]);
  }
});

Deno.test("an identifier that a program takes for something else → a name with a suffix", async () => {
  const ids = [
    "12345",
    "0x7f",
    "0x",
    "0",
    "localhost",
    "wpad",
    "isatap",
    "metadata",
    "ip6-loopback",
  ];
  for (const [place, name] of (await namesOf(ids)).entries()) {
    assert.match(name, new RegExp(`^${ids[place]}-[0-9a-f]{16}$`));
  }
});

Deno.test("an identifier that is the name of another agent → another name", async () => {
  const [taken] = await namesOf(["A-1"]);
  assert.match(taken!, /^a-1-[0-9a-f]{16}$/);
  assert.notEqual((await namesOf([taken!]))[0], taken);
});

Deno.test("encoded names (xn--) do not occur", async () => {
  assert.match((await namesOf(["xn--bcher-kva"]))[0]!, /^xn-bcher-kva-[0-9a-f]{16}$/);
});

for (const [which, ids] of [["any", agentId], ["similar", similarId]] as const) {
  Deno.test(`${which} identifiers → labels, a different one for each`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(ids, { minLength: 1, maxLength: 60 }), async (some) => {
        const names = await namesOf(some);
        for (const name of names) {
          assert.match(name, LABEL);
          assert.ok(!name.includes("--") && /[a-z-]/.test(name), name);
        }
        assert.equal(new Set(names).size, some.length);
      }),
      { numRuns: 50 },
    );
  });
}

Deno.test("two peers with one name → refused by the constraint", async () => {
  for (const agent of ["alice", "bob"]) await file.mesh.register(agent);
  await assert.rejects(
    file.mesh.owner.begin(async (sql) => {
      await sql`alter table mesh.peers alter column dns_label drop expression`;
      await sql`update mesh.peers set dns_label = 'bob' where agent_id = 'alice'`;
    }),
    /name_is_unique/,
  );
});

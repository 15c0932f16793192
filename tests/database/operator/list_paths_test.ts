import assert from "node:assert/strict";
import { agentNames, meshDatabaseForThisFile } from "../mesh/mesh_database.ts";

const own = meshDatabaseForThisFile();

interface Side {
  readonly agent_id: string;
  readonly online: boolean;
  readonly lags: boolean | null;
  readonly endpoints: readonly string[];
  readonly report: { readonly via: string; readonly endpoint: string | null } | null;
}

interface Page {
  readonly found: readonly (readonly [Side, Side])[];
  readonly next: string | null;
}

function page(parameters: Record<string, unknown> = {}): Promise<Page> {
  return own.mesh.call<Page>("list_paths", { max_entries: 100, ...parameters });
}

/** The pairs of all pages, each as `a b`. */
async function pairs(parameters: Record<string, unknown>): Promise<string[]> {
  const found: string[] = [];
  for (let after: string | null = ""; after !== null;) {
    const answer: Page = await page({ ...parameters, after });
    found.push(...answer.found.map((sides) => sides.map(({ agent_id }) => agent_id).join(" ")));
    after = answer.next;
  }
  return found;
}

Deno.test("list_paths → both sides of each pair, the lower first, with what each reports", async () => {
  const { mesh } = own;
  await mesh.startOver();
  await mesh.register("alice");
  await mesh.register("bob", {
    endpoint: "198.51.100.1:51820",
    endpoint_ip: "198.51.100.1",
    further_endpoints: ["[2001:db8::1]:51820"],
  });
  await mesh.put({ from_agent: "bob", to_agent: "alice" });
  await mesh.heartbeat("bob", [{
    agent_id: "alice",
    via: "relay",
    endpoint: "203.0.113.7:4242",
    endpoint_ip: "203.0.113.7",
  }]);
  const { found: [sides] } = await page();
  assert.deepEqual(
    sides?.map((side) => ({
      ...side,
      report: side.report && [side.report.via, side.report.endpoint],
    })),
    [
      {
        agent_id: "alice",
        online: false,
        lags: null,
        endpoints: [],
        problem: null,
        report: null,
      },
      {
        agent_id: "bob",
        online: true,
        lags: null,
        endpoints: ["198.51.100.1:51820", "[2001:db8::1]:51820"],
        problem: null,
        report: ["relay", "203.0.113.7:4242"],
      },
    ],
  );
  await mesh.owner`
    update mesh.liveness set last_seen = now() - interval '2 minutes',
      paths_reported_at = now() - interval '2 minutes'`;
  const { found: [later] } = await page();
  assert.deepEqual(later?.map(({ online, report }) => [online, report]), [
    [false, null],
    [false, null],
  ]);
});

Deno.test("list_paths page by page, of all and of one agent → every pair once, in order, whatever the size of a page", async () => {
  const { mesh } = own;
  await mesh.startOver();
  const agents = agentNames(6).sort();
  for (const agent of agents) await mesh.register(agent);
  const all = agents.flatMap((one, index) =>
    agents.slice(index + 1).map((other) => ({ from_agent: one, to_agent: other }))
  );
  for (const rule of all) await mesh.put(rule);
  // Not listed: a rule with an unregistered agent, and a revoked rule.
  await mesh.put({ from_agent: agents[0]!, to_agent: "agent-5-not-registered" });
  await mesh.revoke(all[3]!);
  const expected = all.toSpliced(3, 1).map(({ from_agent, to_agent }) =>
    `${from_agent} ${to_agent}`
  );
  for (const max_entries of [1, 2, 7, 100]) {
    assert.deepEqual(await pairs({ max_entries }), expected);
    for (const agent_id of agents) {
      assert.deepEqual(
        await pairs({ max_entries, agent_id }),
        expected.filter((pair) => pair.split(" ").includes(agent_id)),
      );
    }
  }
  assert.deepEqual(await pairs({ max_entries: 10, agent_id: "nobody" }), []);
});

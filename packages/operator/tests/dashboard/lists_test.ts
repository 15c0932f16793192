/** How the lists and the picture show many agents. */
import assert from "node:assert/strict";
import { listed, questionOf, readNamed } from "../../dashboard/read/listing.ts";
import type { PathSide } from "../../../agent-peer/paths/describe_path.ts";
import { knownPaths } from "../../picture/path_counts.ts";
import { drawn } from "../../dashboard/read/mesh.ts";
import { prefixesOf } from "../../dashboard/read/groups.ts";
import type { PeerRow, RuleRow } from "../../reads/rows.ts";
import { operatorRpc } from "../../../../tests/conformance/client.ts";

interface Row {
  readonly agent_id: string;
  readonly size: number | null;
}

const KIND = {
  filters: { even: { label: "even", admits: ({ size }: Row) => (size ?? 1) % 2 === 0 } },
  orders: { size: ({ size }: Row) => size },
};

/** 120 rows in the order of their names. Some sizes are unknown. */
const ROWS: readonly Row[] = Array.from({ length: 120 }, (_, index) => ({
  agent_id: `a-${String(index).padStart(3, "0")}`,
  size: index % 40 === 0 ? null : (index * 7) % 120,
}));

function ask(query: string) {
  return listed({ rows: ROWS, isCut: false }, KIND, questionOf(new URLSearchParams(query)));
}

for (
  const [query, first, total, page, pages] of [
    ["", "a-000", 120, 1, 3],
    ["page=3", "a-100", 120, 3, 3],
    ["page=9", "a-100", 120, 3, 3],
    ["page=-1", "a-000", 120, 1, 3],
    ["page=x", "a-000", 120, 1, 3],
    ["sort=size", "a-103", 120, 1, 3],
    ["sort=-size", "a-017", 120, 1, 3],
    ["show=even", "a-002", 57, 1, 2],
    ["show=constructor&sort=-toString", "a-000", 120, 1, 3],
  ] as const
) {
  Deno.test(`a list of 120 asked for ?${query} → page ${page} of ${pages}, from ${first}`, () => {
    const list = ask(query);
    assert.deepEqual([list.rows[0]?.agent_id, list.total, list.question.page, list.pages], [
      first,
      total,
      page,
      pages,
    ]);
  });
}

Deno.test("a list sorted by what some rows lack → those come last in either direction", () => {
  for (const query of ["sort=size&page=3", "sort=-size&page=3"]) {
    assert.deepEqual(ask(query).rows.slice(-3).map(({ size }) => size), [null, null, null], query);
  }
});

Deno.test("a list of nothing → one empty page", () => {
  const list = listed<Row>({ rows: [], isCut: false }, KIND, questionOf(new URLSearchParams()));
  assert.deepEqual([list.rows, list.total, list.pages], [[], 0, 1]);
});

Deno.test("agents by prefix → that of the same name too, and none beside it", async () => {
  const stem = `zz${crypto.randomUUID().slice(0, 8)}`;
  const names = [`${stem}-`, `${stem}-1`, `${stem}-z~`.replace("~", "z"), `${stem}.1`, stem];
  try {
    for (const agent_id of names) await operatorRpc("create_agent_key", { agent_id });
    const named = async (prefix: string) =>
      (await readNamed<Row>("list_agents", prefix)).rows.map(({ agent_id }) => agent_id);
    assert.deepEqual(await named(stem), [...names].sort());
    assert.deepEqual(await named(`${stem}-`), [`${stem}-`, `${stem}-1`, `${stem}-zz`]);
    assert.deepEqual(await named(`${stem}-1`), [`${stem}-1`]);
    assert.deepEqual(await named(`${stem}-2`), []);
    assert.deepEqual(await named(`${stem}é"'\0`.replace("\0", "")), []);
  } finally {
    for (const agent_id of names) await operatorRpc("remove_agent", { agent_id });
  }
});

function peers(stem: string, count: number): PeerRow[] {
  return Array.from({ length: count }, (_, index) => ({
    agent_id: `${stem}${index}`,
    online: index % 2 === 0,
    last_seen: "2026-01-31T09:30:00.000Z",
    lags: false,
  } as PeerRow));
}

/** One side of a path with its report; null: no report. */
function side(agent_id: string, report: { readonly works: boolean } | null): PathSide {
  return {
    agent_id,
    online: true,
    lags: false,
    endpoints: [],
    report: report && {
      ...report,
      via: report.works ? "direct" : "none",
      since: "2026-01-31T09:30:00.000Z",
      handshake_age_seconds: null,
      endpoint: null,
      reported_at: "2026-01-31T09:30:00.000Z",
    },
  };
}

function rule(from_agent: string, to_agent: string, port = 443): RuleRow {
  return {
    from_agent,
    to_agent,
    port,
    proto: "tcp",
    active: true,
    waiting_for: null,
    origin: "agents",
  };
}

Deno.test("a picture of 300 peers → one node per prefix, one edge per pair of them; opened: agent by agent", () => {
  const all = [...peers("web-", 200), ...peers("db-eu-", 99), ...peers("alone", 1)];
  const rules = Array.from(
    { length: 200 },
    (_, index) => rule(`web-${index}`, `db-eu-${index % 99}`, 5000 + index),
  );
  const paths = knownPaths([
    [side("db-eu-0", { works: true }), side("web-0", { works: true })],
    [side("db-eu-1", { works: false }), side("web-1", null)],
  ]);
  const inside = rule("web-1", "web-2");
  const closed = drawn({ peers: all, rules: [...rules, inside], paths }, "");
  assert.deepEqual(closed.nodes, [
    { id: "web- *", prefix: "web-", states: { online: 100, offline: 100 } },
    { id: "db-eu- *", prefix: "db-eu-", states: { online: 50, offline: 49 } },
    { id: "alone0", prefix: null, states: { online: 1 } },
  ]);
  assert.deepEqual(closed.edges, [
    {
      from: "web- *",
      to: "db-eu- *",
      ports: "tcp 5000, 5001, 5002, 5003 and 196 more",
      path: "1 of 2 work",
      isBroken: true,
    },
  ]);
  assert.deepEqual([closed.peers, closed.online], [300, 151]);
  assert.deepEqual([closed.paths, closed.working], [2, 1]);
  const open = drawn({ peers: all, rules, paths }, "db-");
  assert.equal(open.nodes.length, 101);
  assert.equal(open.edges.length, 99);
  assert.deepEqual(
    open.edges.slice(0, 3).map(({ to, path, isBroken }) => [to, path, isBroken]),
    [["db-eu-0", "directly", false], ["db-eu-1", "does not work", true], ["db-eu-2", "", false]],
  );
});

Deno.test("names of any kind → at most 64 groups while nothing is open, and a group that is opened is not itself again", () => {
  const kinds: readonly (readonly string[])[] = [
    Array.from({ length: 300 }, () => crypto.randomUUID().replaceAll("-", "")),
    Array.from({ length: 300 }, (_, index) => `agent-${index}`),
    Array.from({ length: 300 }, (_, index) => `a${index}-x`),
  ];
  for (const names of kinds) {
    const prefixes = prefixesOf(names, "");
    const groups = new Set(names.map((name) => prefixes.get(name) ?? name));
    assert.ok(groups.size <= 64, `${groups.size} of ${names[0]}`);
    for (const open of new Set(prefixes.values())) {
      const within = prefixesOf(names, open);
      for (const [name, prefix] of within) {
        assert.ok(name.startsWith(prefix));
        if (name.startsWith(open)) assert.ok(prefix.length > open.length, `${open} in itself`);
      }
    }
  }
  assert.equal(prefixesOf(kinds[0]!.slice(0, 100), "").size, 0);
});

import assert from "node:assert/strict";
import type { SentPath } from "../../../agent-files/contract/types.ts";
import { NamedPaths } from "../../mesh/service/named_paths.ts";

const TAKEN = 64;

function pathsOf(count: number, via: SentPath["via"] = "direct"): SentPath[] {
  return Array.from({ length: count }, (_, index) => ({
    agent_id: `peer-${index}`,
    handshake_age_seconds: 1,
    endpoint: null,
    via,
  }));
}

function names(paths: readonly SentPath[]): string[] {
  return paths.map(({ agent_id }) => agent_id);
}

for (const count of [0, 1, 64, 65, 130, 200]) {
  Deno.test(`${count} neighbours → each is named at first, and again and again, in its turn`, () => {
    const named = new NamedPaths();
    const paths = pathsOf(count);
    const requests = Math.max(1, Math.ceil(count / TAKEN));
    for (let round = 0; round < 5; round++) {
      const told = new Set<string>();
      for (let request = 0; request < requests; request++) {
        const next = names(named.next(paths));
        assert.equal(next.length, Math.min(count, TAKEN));
        assert.equal(new Set(next).size, next.length);
        for (const name of next) told.add(name);
      }
      assert.equal(told.size, count);
    }
  });
}

Deno.test("a path changes, with 200 neighbours, 100 of them unreachable → it is in the next request", () => {
  const named = new NamedPaths();
  const paths = [...pathsOf(100, "none"), ...pathsOf(200).slice(100)];
  for (let request = 0; request < 4; request++) named.next(paths);
  for (const index of [0, 99, 100, 150, 199]) {
    paths[index] = { ...paths[index]!, endpoint: "192.0.2.1:1", via: "relay" };
    assert.ok(names(named.next(paths)).includes(`peer-${index}`), String(index));
  }
});

Deno.test("more paths that change all the time than a request takes → the others have their turn", () => {
  const named = new NamedPaths();
  const told = new Set<string>();
  for (let request = 0; request < 8; request++) {
    const paths = pathsOf(200).map((path, index) =>
      index < 100 ? { ...path, endpoint: `192.0.2.1:${request + 1}` } : path
    );
    for (const name of names(named.next(paths))) told.add(name);
  }
  assert.equal(told.size, 200);
});

Deno.test("longestWait() → up to 64 paths: any; more: one heartbeat", () => {
  const named = new NamedPaths();
  assert.deepEqual([0, 64].map((paths) => named.longestWait(paths, 30)), [Infinity, Infinity]);
  assert.deepEqual([65, 5000].map((paths) => named.longestWait(paths, 30)), [30, 30]);
});

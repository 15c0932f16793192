/**
 * Libraries that are written for sockets of the system, unchanged, over sockets of the mesh: one
 * process has both peers, and behind the builder are real servers of this machine.
 */
import assert from "node:assert/strict";
import { createAgent, SUPABASE_URL } from "../../conformance/client.ts";
import { allow } from "../hosts/sandbox.ts";
import { type DriverName, driversOn, NODES, type Runtime } from "./programs.ts";
import { startMariadb, startRedis } from "./servers.ts";

/** In characters. */
const LENGTH = 300_000;

/** Runs a driver's program in every runtime, between two agents of its own. */
async function inRuntimes(
  driver: DriverName,
  { port, server = null, expected, runtimes = [...NODES, "deno"] }: {
    readonly port: number;
    /** Where the builder's connections lead to. Null: the program is the server. */
    readonly server?: string | null;
    readonly expected: (planner: string) => unknown;
    readonly runtimes?: readonly Runtime[];
  },
): Promise<void> {
  for (const runtime of runtimes) {
    const [planner, builder] = [await createAgent("planner"), await createAgent("builder")];
    await allow({ from: { agent: planner }, to: { agent: builder }, port });
    const outcome = await driversOn(runtime, {
      driver,
      port,
      server,
      url: SUPABASE_URL,
      length: LENGTH,
      keys: [planner.key, builder.key],
    });
    assert.deepEqual(outcome, expected(planner.id), runtime);
  }
}

Deno.test("pg, a client and a pool, over the mesh → the database's answers, long ones and side by side", () =>
  inRuntimes("pg", {
    port: 5432,
    server: Deno.env.get("SUPABASE_DB_URL")!,
    expected: () => ({ length: LENGTH, sums: [2, 3, 4], refused: "42P01" }),
  }));

Deno.test("ioredis over the mesh → values, a pipeline and messages", async () => {
  await using redis = await startRedis();
  await inRuntimes("ioredis", {
    port: 6379,
    server: redis.url,
    expected: () => ({ length: LENGTH, counted: [1, 2, 3], heard: "hello" }),
  });
});

Deno.test("mysql2 over the mesh → rows, and a long parameter", async () => {
  await using mariadb = await startMariadb();
  await inRuntimes("mysql2", {
    port: 3306,
    server: mariadb.url,
    expected: () => ({ length: LENGTH, sum: 2, refused: "ER_NO_SUCH_TABLE" }),
  });
});

Deno.test("undici over the mesh, to Node's HTTP server → answers, over one connection", () =>
  inRuntimes("undici", {
    port: 8080,
    // Deno's HTTP server leaves an error of a socket that it was given unhandled.
    runtimes: NODES,
    expected: (planner) => ({
      answers: [0, 1].map((number) => ({ number, length: LENGTH, from: planner })),
      connections: 1,
    }),
  }));

Deno.test("ws over the mesh, client and server → messages in both directions, then a clean close", () =>
  inRuntimes("ws", {
    port: 8080,
    expected: (planner) => ({ heard: LENGTH, code: 4000, from: planner }),
  }));

Deno.test("Node's http and https, client and server, over the mesh → the answer; the server knows who asks", () =>
  inRuntimes("http", {
    port: 8080,
    // Deno's HTTP server leaves an error of a socket that it was given unhandled.
    runtimes: NODES,
    expected: (planner) => ({
      answers: ["http:", "https:"].map((protocol) => ({ protocol, length: LENGTH })),
      clients: [[planner, true], [null, false]],
    }),
  }));

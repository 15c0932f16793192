import assert from "node:assert/strict";
import { type BenchRequest, load } from "./load/load.ts";

/** Serves requests. `statusOf` determines the status of each answer by the request's number. */
async function withService(
  statusOf: (number: number, timesAsked: number) => number,
  use: (origin: string, asked: readonly number[]) => Promise<void>,
): Promise<void> {
  const asked: number[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { number } = await request.json();
    asked.push(number);
    const timesAsked = asked.filter((other) => other === number).length;
    return Response.json({}, { status: statusOf(number, timesAsked) });
  });
  try {
    await use(`http://127.0.0.1:${server.addr.port}`, asked);
  } finally {
    await server.shutdown();
  }
}

function requests(count: number): BenchRequest[] {
  return Array.from({ length: count }, (_, number) => ({
    path: "/bare/rpc/register_peer",
    headers: {},
    body: { number },
  }));
}

Deno.test("load() of a service that refuses one request once with 503 → it is repeated and counted, and every request was answered", async () => {
  const refuses17 = (number: number, times: number) => number === 17 && times === 1 ? 503 : 200;
  await withService(refuses17, async (origin, asked) => {
    const measured = await load(origin, requests(40), 16);
    assert.deepEqual([measured.requests, measured.repeated], [40, 1]);
    assert.deepEqual(
      asked.toSorted((one, other) => one - other),
      [...Array(40).keys(), 17].sort((one, other) => one - other),
    );
  });
});

Deno.test("load() of a service that refuses none → none is repeated", async () => {
  await withService(() => 200, async (origin, asked) => {
    assert.equal((await load(origin, requests(20), 4)).repeated, 0);
    assert.equal(asked.length, 20);
  });
});

Deno.test("load() of a service that refuses the same request again → fails, and says what was refused", async () => {
  await withService((number) => number === 3 ? 503 : 200, async (origin) => {
    await assert.rejects(
      load(origin, requests(20), 4),
      /^Error: \/bare\/rpc\/register_peer: .*"503":1/,
    );
  });
});

Deno.test("load() of a service that refuses more than one in a hundred → fails, and repeats none", async () => {
  const refusesMany = (number: number, times: number) => number < 5 && times === 1 ? 503 : 200;
  await withService(refusesMany, async (origin, asked) => {
    await assert.rejects(load(origin, requests(100), 4), /"503":5/);
    assert.equal(asked.length, 100);
  });
});

Deno.test("load() of a service that fails with 500 → fails, and repeats none", async () => {
  await withService((number) => number === 3 ? 500 : 200, async (origin, asked) => {
    await assert.rejects(load(origin, requests(20), 4), /"500":1/);
    assert.equal(asked.length, 20);
  });
});

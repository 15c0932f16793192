import assert from "node:assert/strict";
import { SigningKeys } from "../../supabase/functions/_shared/identity/callers/signing_keys.ts";

/** SigningKeys with a server that counts fetches, and a clock that only the test moves. */
async function withKeys(
  run: (served: {
    /** The key ids that the next fetch gets; null: status 500. */
    ids: string[] | null;
    fetches: number;
    seconds: number;
    find: (id: string) => Promise<boolean>;
  }) => Promise<void>,
): Promise<void> {
  const served = {
    ids: ["a"] as string[] | null,
    fetches: 0,
    seconds: 0,
    find: async (id: string) => await keys.find(id) !== undefined,
  };
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => {
    served.fetches++;
    if (served.ids === null) return new Response("no", { status: 500 });
    return Response.json({ keys: served.ids.map((kid) => ({ kid, kty: "EC" })) });
  });
  const keys = new SigningKeys(
    `http://127.0.0.1:${server.addr.port}`,
    {},
    () => served.seconds * 1000,
  );
  await run(served);
}

Deno.test("a known key → no fetch for ten minutes, then one", async () => {
  await withKeys(async (served) => {
    assert.deepEqual([await served.find("a"), served.fetches], [true, 1]);
    served.seconds = 599;
    assert.deepEqual([await served.find("a"), served.fetches], [true, 1]);
    served.seconds = 600;
    assert.deepEqual([await served.find("a"), served.fetches], [true, 2]);
  });
});

Deno.test("a key that has left → unknown after ten minutes, or as soon as another one is looked for", async () => {
  await withKeys(async (served) => {
    await served.find("a");
    served.ids = ["b"];
    served.seconds = 9;
    assert.deepEqual([await served.find("b"), await served.find("a")], [false, true]);
    served.seconds = 10;
    assert.deepEqual([await served.find("b"), await served.find("a")], [true, false]);
    assert.equal(served.fetches, 2);
  });
});

Deno.test("a thousand unknown ids → one fetch in ten seconds", async () => {
  await withKeys(async (served) => {
    for (let time = 0; time < 1000; time++) {
      served.seconds = time / 100;
      assert.equal(await served.find(`unknown ${time}`), false);
    }
    assert.equal(served.fetches, 1);
  });
});

Deno.test("a hundred at the same time → one fetch", async () => {
  await withKeys(async (served) => {
    const found = await Promise.all(Array.from({ length: 100 }, () => served.find("a")));
    assert.ok(found.every(Boolean));
    assert.equal(served.fetches, 1);
  });
});

Deno.test("no answer → upstream_unavailable; the next one is asked for again", async () => {
  await withKeys(async (served) => {
    served.ids = null;
    await assert.rejects(served.find("a"), { code: "upstream_unavailable" });
    served.ids = ["a"];
    assert.equal(await served.find("a"), true);
  });
});

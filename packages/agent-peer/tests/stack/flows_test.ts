/** What the flow logs of two engines say of the same connections. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { ByteStream } from "../../mesh/byte_stream.ts";
import type { Flow } from "../../mesh/flows/flow.ts";
import { Engines, type Side } from "./engines.ts";

const RULE = { from: "planner", to: "builder", port: 80 };
const OTHER_RULE = { from: "planner", to: "builder", port: 81 };

/** Waits until a side has been told so many flows. */
async function told({ told, name }: Side, count: number): Promise<Flow[]> {
  const until = performance.now() + 60_000;
  while (told.length < count) {
    if (performance.now() > until) throw new Error(`${name} was told ${JSON.stringify(told)}`);
    await new Promise((go) => setTimeout(go, 10));
  }
  return told;
}

const summary = (
  { direction, name, port, end, reason }: Flow,
) => [direction, name, port, end, reason];

async function readAll(stream: ByteStream): Promise<number> {
  let length = 0;
  for (let bytes = await stream.read(); bytes !== null; bytes = await stream.read()) {
    length += bytes.length;
  }
  return length;
}

/** Two sides with a rule, a listener, and a connection by it. */
async function connected() {
  const engines = await Engines.open();
  const { planner, builder } = engines;
  await engines.setRules([RULE]);
  const arrived = Promise.withResolvers<ByteStream>();
  await builder.engine.listen(80, (stream) => arrived.resolve(stream));
  const near = await planner.engine.connect({ address: builder.address, port: 80 });
  return { engines, planner, builder, near, far: await arrived.promise };
}

Deno.test("a connection that both sides end → clean on both, with every byte each way", async () => {
  const { engines, planner, builder, near, far } = await connected();
  await using _ = engines;
  const [[open]] = [await builder.engine.flows()];
  assert.deepEqual(open && summary(open), ["in", "planner", 80, null, null]);
  const reading = readAll(far);
  await near.write(new Uint8Array(randomBytes(300_000)));
  await near.end();
  assert.equal(await reading, 300_000);
  await far.write(new Uint8Array(7000));
  await far.end();
  assert.equal(await readAll(near), 7000);
  const [out] = await told(planner, 1);
  const [into] = await told(builder, 1);
  assert.deepEqual(summary(out!), ["out", "builder", 80, "clean", null]);
  assert.deepEqual(summary(into!), ["in", "planner", 80, "clean", null]);
  assert.deepEqual([out!.sentBytes, out!.receivedBytes], [300_000, 7000]);
  assert.deepEqual([into!.sentBytes, into!.receivedBytes], [7000, 300_000]);
});

Deno.test("a connection that one side resets → each side knows which", async () => {
  const { engines, planner, builder, near, far } = await connected();
  await using _ = engines;
  near.abort();
  await assert.rejects(far.read(), { code: "ECONNRESET" });
  assert.deepEqual(summary((await told(planner, 1))[0]!).slice(3), ["reset", "by_this_side"]);
  assert.deepEqual(summary((await told(builder, 1))[0]!).slice(3), ["reset", "by_peer"]);
});

Deno.test("a rule that one side revokes → that side knows it, the other one sees a reset", async () => {
  const { engines, planner, builder, far } = await connected();
  await using _ = engines;
  await engines.setRules([], ["planner"]);
  await assert.rejects(far.read(), { code: "ECONNRESET" });
  assert.deepEqual(summary((await told(planner, 1))[0]!).slice(3), ["reset", "rule_revoked"]);
  assert.deepEqual(summary((await told(builder, 1))[0]!).slice(3), ["reset", "by_peer"]);
});

Deno.test("connections that are refused → both sides know why", async () => {
  await using engines = await Engines.open();
  const { planner, builder } = engines;
  await engines.setRules([RULE]);
  await assert.rejects(planner.engine.connect({ address: builder.address, port: 80 }), {
    code: "ECONNREFUSED",
  });
  const refused = ["refused", "nothing_listens"];
  assert.deepEqual(summary((await told(planner, 1))[0]!), ["out", "builder", 80, ...refused]);
  assert.deepEqual(summary((await told(builder, 1))[0]!), ["in", "planner", 80, ...refused]);

  // The builder has not heard of this rule yet. It drops what comes.
  await engines.setRules([RULE, OTHER_RULE], ["planner"]);
  await builder.engine.listen(81, () => assert.fail("no rule"));
  const giveUp = new AbortController();
  const trying = planner.engine.connect({
    address: builder.address,
    port: 81,
    signal: giveUp.signal,
  });
  const flows = await told(builder, 2);
  assert.deepEqual(summary(flows[1]!), ["in", "planner", 81, "refused", "no_rule"]);
  giveUp.abort();
  await assert.rejects(trying);
  const last = summary((await told(planner, 2))[1]!);
  assert.deepEqual(last, ["out", "builder", 81, "refused", "given_up"]);
});

Deno.test("connections that are open when an engine closes → told before it has closed", async () => {
  const { engines, planner } = await connected();
  await planner.engine.close();
  assert.deepEqual(planner.told.map((flow) => summary(flow).slice(3)), [["reset", "by_this_side"]]);
  await engines.builder.engine.close();
});

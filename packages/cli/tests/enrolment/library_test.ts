/** The client's option `enrol` instead of a key. */
import assert from "node:assert/strict";
import { AgentFiles, AgentMesh, type Enrol } from "../../../agent-files/index.ts";
import { SUPABASE_URL as url } from "../../../../tests/conformance/client.ts";
import {
  endMadeEnrolments,
  newName,
  put,
} from "../../../../tests/conformance/enrolment/enrolments.ts";
import { collect } from "../../../agent-files/tests/cast.ts";
import { expireKeys, generationOf, trust } from "./cast.ts";

Deno.test.afterEach(endMadeEnrolments);

Deno.test("enrol with an enrolment key → files and mesh of a process, 16 requests at once, share one enrolment", async () => {
  const { enrolment_key: enrolmentKey } = await put({ tags: ["tag:builder"] });
  const agentName = newName("vm");
  const options = { url, enrol: { enrolmentKey, agentName } };
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => [
      new AgentFiles(options).whoami(),
      new AgentMesh(options).whoami(),
    ]).flat(),
  );
  assert.deepEqual(new Set(answers.map(({ agent_id }) => agent_id)), new Set([agentName]));
  assert.deepEqual(answers[0]!.tags, ["tag:builder"]);
  assert.equal(await generationOf(agentName), 1);
});

Deno.test("enrol with a function for the token, and the key has ended → the function is asked again, once for all requests", async () => {
  const { token } = await trust();
  const sub = newName("run");
  let asked = 0;
  const files = new AgentFiles({
    url,
    enrol: { token: () => (asked++, token({ sub })) },
  });
  assert.equal(asked, 0);
  assert.equal((await files.whoami()).agent_id, sub);
  await expireKeys(sub);
  await Promise.all(Array.from({ length: 8 }, () => collect(files.list())));
  assert.equal(asked, 2);
  assert.equal(await generationOf(sub), 2);
});

Deno.test("enrol with a token of one use, and the key has ended → the refusal, and the next request asks again", async () => {
  const { token } = await trust();
  const sub = newName("run");
  let given = await token({ sub });
  const files = new AgentFiles({ url, enrol: { token: () => given } });
  await files.whoami();
  await expireKeys(sub);
  await assert.rejects(files.whoami(), { code: "token_replayed", status: 401 });
  assert.equal(await generationOf(sub), 1);
  given = await token({ sub });
  assert.equal((await files.whoami()).agent_id, sub);
});

Deno.test("two machines that enrol as one agent → the older one is told superseded at each request, and the newer one goes on", async () => {
  const { enrolment_key } = await put({ uses_left: null });
  const agentName = newName("vm");
  // Each machine has its own function as its proof, and shares no file with the other.
  const enrol = () => ({ enrolmentKey: () => enrolment_key, agentName, keyFile: null });
  const machine = () => new AgentFiles({ url, enrol: enrol() });
  const [older, newer] = [machine(), machine()];
  await older.whoami();
  await newer.whoami();
  for (const _ of ["first", "again"]) {
    await assert.rejects(older.whoami(), { code: "superseded", status: 401 });
    assert.equal((await newer.whoami()).agent_id, agentName);
  }
  assert.equal(await generationOf(agentName), 2);
});

Deno.test("leave() → the agent's key has ended, and an enrolment key of one use gives no other", async () => {
  const { enrolment_key: enrolmentKey } = await put();
  const agentName = newName("vm");
  const files = new AgentFiles({ url, enrol: { enrolmentKey, agentName } });
  await files.whoami();
  assert.deepEqual(await files.leave(), { agent_id: agentName, left: true });
  await assert.rejects(files.whoami(), { code: "enrolment_refused", status: 401 });
  await assert.rejects(new AgentMesh({ url, enrol: { enrolmentKey, agentName } }).leave(), {
    code: "enrolment_refused",
  });
});

Deno.test("enrol with no proof, with two, or beside a key → invalid_request, and nothing is sent", () => {
  const fetch = () => Promise.reject(new Error("asked"));
  for (const enrol of [{}, { enrolmentKey: "ek_1", token: "t" }] as unknown as Enrol[]) {
    assert.throws(() => new AgentFiles({ url, enrol, fetch }), { code: "invalid_request" });
  }
  const both = { url, key: "ak_1", enrol: { token: "t" }, fetch } as never;
  assert.throws(() => new AgentMesh(both), { code: "invalid_request" });
  assert.throws(() => new AgentMesh({ url } as never), { code: "invalid_request" });
});

Deno.test("a function for the proof that throws → key_unavailable with its cause; the next request asks again", async () => {
  const { enrolment_key } = await put();
  let isThere = false;
  const enrolmentKey = () => {
    if (!isThere) throw new Error("no such file");
    return ` ${enrolment_key}\n`;
  };
  const files = new AgentFiles({ url, enrol: { enrolmentKey, agentName: newName("vm") } });
  const error = await files.whoami().catch((error) => error);
  assert.equal(error.code, "key_unavailable");
  assert.match(String(error.cause), /no such file/);
  isThere = true;
  await files.whoami();
});

/** A service that, while it is up, issues numbered keys that are valid for one second. */
function briefService() {
  const asked: string[] = [];
  const service = {
    asked,
    isUp: true,
    fetch: ((input, init) => {
      const path = new URL(String(input)).pathname.split("/").at(-1)!;
      asked.push(`${path} ${new Headers(init!.headers).get("authorization") ?? ""}`.trim());
      if (path !== "enroll") return Promise.resolve(Response.json({ agent_id: "vm" }));
      if (!service.isUp) return Promise.resolve(new Response("down", { status: 503 }));
      const expires_at = new Date(Date.now() + 100_000).toISOString();
      const key = `ak_${asked.filter((request) => request === "enroll").length}`;
      return Promise.resolve(Response.json({ key, expires_at }));
    }) as typeof fetch,
  };
  return service;
}

Deno.test("after 80 % of a key's life → another one before the request; while none is given, the old one, and a new attempt after 15 s", async () => {
  const now = Date.now;
  let ahead = 0;
  Date.now = () => now() + ahead;
  try {
    const service = briefService();
    const files = new AgentFiles({
      url: "https://brief.example",
      fetch: service.fetch,
      enrol: { enrolmentKey: () => "ek_1", keyFile: null },
    });
    const askedAfter = async (milliseconds: number) => {
      ahead = milliseconds;
      const before = service.asked.length;
      await files.whoami();
      return service.asked.slice(before);
    };
    assert.deepEqual(await askedAfter(0), ["enroll", "whoami Bearer ak_1"]);
    assert.deepEqual(await askedAfter(79_000), ["whoami Bearer ak_1"]);
    service.isUp = false;
    assert.deepEqual(await askedAfter(81_000), ["enroll", "whoami Bearer ak_1"]);
    service.isUp = true;
    assert.deepEqual(await askedAfter(95_000), ["whoami Bearer ak_1"]);
    assert.deepEqual(await askedAfter(97_000), ["enroll", "whoami Bearer ak_3"]);
  } finally {
    Date.now = now;
  }
});

Deno.test("a key function that tells when the key ends → asked again before; a time that is none → once a minute at most", async () => {
  const now = Date.now;
  let ahead = 0;
  Date.now = () => now() + ahead;
  try {
    for (const [life, expected] of [[100_000, [1, 1, 2]], [NaN, [1, 2, 3]]] as const) {
      ahead = 0;
      let asked = 0;
      const files = new AgentFiles({
        url: "https://brief.example",
        fetch: briefService().fetch,
        key: () => ({
          key: `ak_${++asked}`,
          expiresAt: Number.isNaN(life) ? "soon" : new Date(Date.now() + life),
        }),
      });
      const counts = [];
      for (ahead of [0, 60_000, 120_000]) {
        await files.whoami();
        await files.whoami();
        counts.push(asked);
      }
      assert.deepEqual(counts, expected);
    }
  } finally {
    Date.now = now;
  }
});

/** Keys that expire: the client calls a function for the next one. */
import assert from "node:assert/strict";
import { AgentError, AgentFiles } from "../../index.ts";
import { askUntil } from "../../../../tests/conformance/ask_until.ts";
import { SUPABASE_URL } from "../../../../tests/conformance/client.ts";
import { newName, signIn } from "../../../../tests/users/signed_in.ts";
import { agentFiles, collect, filesOf } from "../cast.ts";

/** A service that accepts the keys for which `isTaken` is true, and the keys that it was sent. */
function serviceOf(isTaken: (key: string) => boolean) {
  const keys: string[] = [];
  const answer: typeof fetch = (_input, init) => {
    const key = new Headers(init!.headers).get("authorization")!.replace("Bearer ", "");
    keys.push(key);
    const refusal = { error: { code: "unauthenticated", message: "No.", retryable: false } };
    return Promise.resolve(
      isTaken(key)
        ? Response.json({ artifacts: [], next_cursor: null })
        : Response.json(refusal, { status: 401 }),
    );
  };
  return { keys, fetch: answer };
}

const url = "https://files.example";

Deno.test("a key that is a function → asked before the first request, and not again while it is taken", async () => {
  const service = serviceOf((key) => key === "token-1");
  let asked = 0;
  const files = new AgentFiles({ url, key: () => `token-${++asked}`, fetch: service.fetch });
  assert.equal(asked, 0);
  await collect(files.list());
  await collect(files.list());
  assert.deepEqual(service.keys, ["token-1", "token-1"]);
});

Deno.test("a 401 → the function is asked again, once for a request, and the same request is sent", async () => {
  const service = serviceOf((key) => key === "token-2");
  let asked = 0;
  const files = new AgentFiles({
    url,
    key: () => Promise.resolve(`token-${++asked}`),
    fetch: service.fetch,
  });
  assert.deepEqual(await collect(files.list()), []);
  assert.deepEqual(service.keys, ["token-1", "token-2"]);

  const never = serviceOf(() => false);
  let count = 0;
  const refused = new AgentFiles({ url, key: () => `token-${++count}`, fetch: never.fetch });
  await assert.rejects(collect(refused.list()), { code: "unauthenticated", status: 401 });
  assert.deepEqual(never.keys, ["token-1", "token-2"]);
});

Deno.test("a 401, and the function has no other key → its error, and nothing is sent again", async () => {
  const service = serviceOf(() => false);
  const files = new AgentFiles({ url, key: () => "token", fetch: service.fetch });
  await assert.rejects(collect(files.list()), { code: "unauthenticated", status: 401 });
  assert.deepEqual(service.keys, ["token"]);
});

Deno.test("401s at the same time → the function is asked once for all of them", async () => {
  let taken = "token-1";
  const service = serviceOf((key) => key === taken);
  let asked = 0;
  const files = new AgentFiles({
    url,
    key: () => Promise.resolve(`token-${++asked}`),
    fetch: service.fetch,
  });
  await collect(files.list());
  taken = "token-2";
  await Promise.all(Array.from({ length: 8 }, () => collect(files.list())));
  assert.equal(asked, 2);
  assert.equal(service.keys.filter((key) => key === "token-2").length, 8);
});

for (
  const [what, key, cause] of [
    ["throws", () => Promise.reject(new Error("signed out")), /signed out/],
    ["returns what no header takes", () => "token\ntoken", /has characters that no key has/],
  ] as const
) {
  Deno.test(`a function that ${what} → key_unavailable with its cause; the next call asks again`, async () => {
    const service = serviceOf(() => true);
    let isRight = false;
    const files = new AgentFiles({
      url,
      key: () => isRight ? "token" : key(),
      fetch: service.fetch,
    });
    const error = await collect(files.list()).catch((error) => error);
    assert.ok(error instanceof AgentError);
    assert.deepEqual([error.code, error.retryable], ["key_unavailable", false]);
    assert.match(String(error.cause), cause);
    assert.deepEqual(service.keys, []);
    isRight = true;
    await collect(files.list());
    assert.deepEqual(service.keys, ["token"]);
  });
}

Deno.test("an aborted signal while the function is asked → its reason, though the function never answers", async () => {
  const controller = new AbortController();
  const files = new AgentFiles({
    url,
    key: () => new Promise(() => {}),
    signal: controller.signal,
  });
  const listed = collect(files.list());
  const reason = new Error("enough");
  controller.abort(reason);
  await assert.rejects(listed, reason);
});

/** Waits until the service refuses the token. */
async function untilEnded(token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  await askUntil(({ status }) => status === 401, async () => {
    const answer = await fetch(`${SUPABASE_URL}/functions/v1/agent-artifacts/whoami`, { headers });
    await answer.body?.cancel();
    return answer;
  });
}

Deno.test("a user's token that ends while inbox() waits → the next one, no error, and every file once", async () => {
  const planner = await agentFiles("planner");
  const name = newName("ada");
  const tokens: string[] = [];
  const files = new AgentFiles({
    url: SUPABASE_URL,
    agentId: name.id,
    key: async () => {
      // The first two keys expire while they are in use.
      const { key } = await signIn(name, { seconds: tokens.length < 2 ? 5 : 600 });
      tokens.push(key);
      return key;
    },
  });
  const keys: string[] = [];
  const put = (key: string) => planner.files.put(key, key, { to: [name.id] });
  await put("before");
  for await (const { key } of files.inbox({ wait: true })) {
    keys.push(key);
    if (key === "before") {
      await untilEnded(tokens[0]!);
      await put("after the first has ended");
    }
    if (key === "after the first has ended") {
      await untilEnded(tokens[1]!);
      await put("last");
    }
    if (key === "last") break;
  }
  assert.deepEqual(keys, ["before", "after the first has ended", "last"]);
  assert.equal(tokens.length, 3);
});

Deno.test("an agent key by a function → the same as by a text", async () => {
  const { agent } = await agentFiles("planner");
  const files = filesOf(agent, { key: () => `${agent.key}\n` });
  await files.put("plan", "1");
  assert.equal((await collect(files.list())).length, 1);
});

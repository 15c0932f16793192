import assert from "node:assert/strict";
import { AgentError } from "../index.ts";
import { agentFiles, bytesIn, bytesOf, collect, filesOf } from "./cast.ts";

const SIZE = 400_000;

type Fetch = typeof fetch;

/** A `fetch` that handles some requests by `otherwise`. */
function fetchWith(
  otherwise: (request: Request, go: () => Promise<Response>) => Promise<Response> | undefined,
): Fetch {
  return (input, init) => {
    // The copy has no body, because creating a Request with it would consume it.
    const { body: _, ...rest } = init ?? {};
    const request = new Request(input as string, rest);
    const go = () => fetch(input, init);
    return otherwise(request, go) ?? go();
  };
}

function lostAnswer(): never {
  throw new TypeError("connection closed");
}

/** Matches only the first `count` requests for which `matches` is true. */
function first(count: number, matches: (request: Request) => boolean) {
  let left = count;
  return (request: Request) => matches(request) && left-- > 0;
}

for (const source of ["a Blob", "a stream once"] as const) {
  Deno.test(`put() of ${source} whose upload's answer is lost → committed`, async () => {
    const isLost = first(1, ({ method }) => method === "PUT");
    const { files } = await agentFiles("planner", {
      fetch: fetchWith((request, go) => isLost(request) ? go().then(lostAnswer) : undefined),
    });
    const blob = new Blob([bytesOf(SIZE)]);
    const put = await files.put(
      "plan",
      source === "a Blob" ? blob : { stream: blob.stream(), size: SIZE },
    );
    assert.equal(put.state, "committed");
    assert.deepEqual(await bytesIn((await files.get("plan")).body), bytesOf(SIZE));
  });
}

for (const path of ["register", "commit", "grant", "open"]) {
  Deno.test(`put() and get() with the answer of /${path} lost, then a gateway's 502 → both succeed`, async () => {
    const builder = await agentFiles("builder");
    const isAsked = ({ url }: Request) => url.endsWith(`/${path}`);
    const [isLost, isDown] = [first(1, isAsked), first(1, isAsked)];
    const { files } = await agentFiles("planner", {
      fetch: fetchWith((request, go) => {
        if (isLost(request)) return go().then(lostAnswer);
        return isDown(request)
          ? Promise.resolve(new Response("Bad gateway", { status: 502 }))
          : undefined;
      }),
    });
    const { artifact_id } = await files.put("plan", "first the cellar", { to: [builder.agent.id] });
    const { body } = await files.get(artifact_id);
    assert.equal(new TextDecoder().decode(await bytesIn(body)), "first the cellar");
  });
}

Deno.test("put() whose bytes are changed on the way → sent again where they can be, and right", async () => {
  const isChanged = first(1, ({ method }) => method === "PUT");
  const { files } = await agentFiles("planner", {
    fetch: (input, init) =>
      isChanged(new Request(input as string, { method: init?.method ?? "GET" }))
        ? fetch(input, { ...init, body: new Uint8Array(SIZE) })
        : fetch(input, init),
  });
  const put = await files.put("plan", bytesOf(SIZE));
  assert.equal(put.state, "committed");
  assert.deepEqual(await bytesIn((await files.get("plan")).body), bytesOf(SIZE));
});

Deno.test("put() of a stream that breaks off on the way → network_error, and no file", async () => {
  const { agent, files } = await agentFiles("planner", {
    fetch: fetchWith(({ method }) =>
      method === "PUT" ? Promise.resolve().then(lostAnswer) : undefined
    ),
  });
  const stream = new Blob([bytesOf(SIZE)]).stream();
  await assert.rejects(files.put("plan", { stream, size: SIZE }), { code: "network_error" });
  assert.deepEqual(await collect(filesOf(agent).list()), []);
});

Deno.test("a commit that is verified in several calls → progress of each, then committed", async () => {
  let asked = 0;
  const { files } = await agentFiles("planner", {
    fetch: fetchWith(({ url }) =>
      url.endsWith("/commit") && ++asked < 3
        ? Promise.resolve(
          Response.json({ state: "verifying", verified_bytes: asked }, {
            status: 202,
            headers: { "retry-after": asked === 1 ? "1" : "0" },
          }),
        )
        : undefined
    ),
  });
  const verified: number[] = [];
  const began = performance.now();
  const put = await files.put("plan", "123", {
    onProgress: ({ phase, bytes }) => phase === "verify" && verified.push(bytes),
  });
  assert.deepEqual(verified, [1, 2]);
  assert.ok(performance.now() - began >= 1000, "asked again before the service wanted it");
  assert.equal(put.state, "committed");
});

/** A response that breaks off after `count` bytes. */
function brokenAfter(response: Response, count: number): Response {
  let left = count;
  const body = response.body!.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        controller.enqueue(chunk.subarray(0, left));
        left -= chunk.byteLength;
        if (left <= 0) controller.error(new TypeError("connection closed"));
      },
    }),
  );
  return new Response(body, response);
}

const isDownload = ({ url }: Request) => url.includes("/object/sign/");

Deno.test("get() over a connection that breaks again and again → goes on from there, and is whole", async () => {
  const { agent, files } = await agentFiles("planner");
  await files.put("plan", bytesOf(SIZE));
  const isBroken = first(3, isDownload);
  const ranges: (string | null)[] = [];
  const unlucky = filesOf(agent, {
    fetch: fetchWith((request, go) => {
      if (isDownload(request)) ranges.push(request.headers.get("range"));
      return isBroken(request) ? go().then((answer) => brokenAfter(answer, 100_000)) : undefined;
    }),
  });
  assert.deepEqual(await bytesIn((await unlucky.get("plan")).body), bytesOf(SIZE));
  assert.equal(ranges.length, 4);
  assert.equal(ranges[0], null);
  assert.ok(ranges.slice(1).every((range) => /^bytes=[1-9]\d*-$/.test(range!)), String(ranges));
});

Deno.test("get() whose URL runs out midway → another URL, and is whole", async () => {
  const { agent, files } = await agentFiles("planner");
  await files.put("plan", bytesOf(SIZE));
  const [isBroken, isOver] = [first(1, isDownload), first(1, isDownload)];
  let opened = 0;
  const unlucky = filesOf(agent, {
    fetch: fetchWith((request, go) => {
      if (request.url.endsWith("/open")) opened++;
      if (isBroken(request)) return go().then((answer) => brokenAfter(answer, 1000));
      return isOver(request)
        ? Promise.resolve(Response.json({ error: "InvalidJWT" }, { status: 400 }))
        : undefined;
    }),
  });
  const got = await unlucky.get((await collect(files.list()))[0]!.artifact_id);
  assert.deepEqual(await bytesIn(got.body), bytesOf(SIZE));
  assert.equal(opened, 2);
});

Deno.test("get() that Storage has no time for → the same URL again: another one may count as a download", async () => {
  const { agent, files } = await agentFiles("planner");
  await files.put("plan", bytesOf(SIZE));
  const isBusy = first(2, isDownload);
  let opened = 0;
  const unlucky = filesOf(agent, {
    fetch: fetchWith((request) => {
      if (request.url.endsWith("/open")) opened++;
      return isBusy(request) ? Promise.resolve(new Response("", { status: 503 })) : undefined;
    }),
  });
  assert.deepEqual(await bytesIn((await unlucky.get("plan")).body), bytesOf(SIZE));
  assert.equal(opened, 1);
});

Deno.test("a call that takes longer to fail than it is to be repeated for → repeated all the same", async () => {
  const isSlow = first(1, ({ url }) => url.endsWith("/list"));
  const { files } = await agentFiles("planner", {
    retrySeconds: 1,
    fetch: fetchWith((request) =>
      isSlow(request)
        ? new Promise((resolve) => setTimeout(resolve, 1200)).then(lostAnswer)
        : undefined
    ),
  });
  assert.deepEqual(await collect(files.list()), []);
});

Deno.test("waits that end at once with nothing, as where a key waits too often → no more than one a second", async () => {
  const waits: number[] = [];
  const { files } = await agentFiles("planner", {
    fetch: async (input, init) => {
      const { wait_seconds, ...request } = JSON.parse(String(init?.body));
      if (wait_seconds === undefined) return await fetch(input, init);
      waits.push(performance.now());
      if (waits.length === 3) throw new AgentError({ code: "internal", message: "Enough." });
      return await fetch(input, { ...init!, body: JSON.stringify(request) });
    },
  });
  for (const follow of [() => files.inbox({ wait: true }), () => files.events({ wait: true })]) {
    waits.length = 0;
    await assert.rejects(collect<unknown>(follow()), { message: "Enough." });
    assert.ok(waits[2]! - waits[0]! >= 2000, String(waits));
  }
});

Deno.test("a key that no header takes → TypeError without the key; one with white space about it → works", async () => {
  const { agent, files } = await agentFiles("planner", {});
  for (const key of [`${agent.key}\n${agent.key}`, "„ak_x“", " "]) {
    const make = () => filesOf({ ...agent, key });
    assert.throws(make, (error) => error instanceof TypeError && !String(error).includes("ak_"));
  }
  await files.put("plan", "1");
  assert.equal((await collect(filesOf({ ...agent, key: `${agent.key}\n` }).list())).length, 1);
});

for (
  const [what, body] of [["other", new Uint8Array(SIZE)], [
    "more",
    new Uint8Array(SIZE + 1),
  ]] as const
) {
  Deno.test(`get() that is given ${what} bytes → the stream ends with download_mismatch`, async () => {
    const { agent, files } = await agentFiles("planner");
    await files.put("plan", bytesOf(SIZE));
    const deceived = filesOf(agent, {
      fetch: fetchWith((request) =>
        isDownload(request) ? Promise.resolve(new Response(body)) : undefined
      ),
    });
    const got = await deceived.get("plan");
    await assert.rejects(bytesIn(got.body), { code: "download_mismatch", retryable: false });
  });
}

Deno.test("get() where the service names an artifact by a path → unexpected_answer, and no bytes", async () => {
  const { agent, files } = await agentFiles("planner");
  await files.put("plan", "how");
  let downloads = 0;
  const deceived = filesOf(agent, {
    fetch: fetchWith((request, go) => {
      if (isDownload(request)) downloads++;
      if (!request.url.endsWith("/open")) return undefined;
      return go().then(async (answer) =>
        Response.json({ ...await answer.json(), artifact_id: "x/../../../../escape5" })
      );
    }),
  });
  await assert.rejects(deceived.get("plan"), { code: "unexpected_answer", retryable: false });
  assert.equal(downloads, 0);
});

Deno.test("a service that stays away → unavailable after retrySeconds, with what it said", async () => {
  const { files } = await agentFiles("planner", {
    retrySeconds: 0,
    fetch: () => Promise.resolve(new Response("<html>", { status: 503 })),
  });
  await assert.rejects(collect(files.list()), {
    code: "unexpected_answer",
    status: 503,
    retryable: true,
  });
});

Deno.test("an address that answers with a redirect → refused, and the key goes nowhere else", async () => {
  const asked: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    asked.push(new URL(request.url).pathname);
    return Response.redirect(new URL("/elsewhere", request.url));
  });
  try {
    const url = `http://127.0.0.1:${server.addr.port}`;
    const { files } = await agentFiles("planner", { url });
    await assert.rejects(collect(files.list()), { code: "unexpected_answer", retryable: false });
    assert.deepEqual(asked, ["/functions/v1/agent-artifacts/list"]);
  } finally {
    await server.shutdown();
  }
});

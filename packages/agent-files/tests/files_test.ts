import assert from "node:assert/strict";
import { AgentError, type Source } from "../index.ts";
import { agentFiles, bytesIn, bytesOf, collect } from "./cast.ts";

const SIZE = 300_000;

function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return new Blob([bytes as Uint8Array<ArrayBuffer>]).stream();
}

const SOURCES: Record<string, (bytes: Uint8Array<ArrayBuffer>, path: string) => Source> = {
  "bytes": (bytes) => bytes,
  "an ArrayBuffer": (bytes) => bytes.buffer,
  "a Blob": (bytes) => new Blob([bytes]),
  "a stream": (bytes) => ({ stream: streamOf(bytes), size: bytes.byteLength }),
  "a function that gives a stream": (bytes) => ({
    stream: () => streamOf(bytes),
    size: bytes.byteLength,
  }),
  "a path": (_bytes, path) => ({ path }),
};

for (const [name, sourceOf] of Object.entries(SOURCES)) {
  for (const size of [0, SIZE]) {
    Deno.test(`put() of ${name} with ${size} bytes → the other agent gets them`, async () => {
      const [planner, builder] = [await agentFiles("planner"), await agentFiles("builder")];
      const bytes = bytesOf(size);
      const path = await Deno.makeTempFile();
      try {
        await Deno.writeFile(path, bytes);
        const phases: string[] = [];
        const put = await planner.files.put("plans/house", sourceOf(bytes, path), {
          to: [builder.agent.id],
          ttlDays: 2,
          mime: "text/plain",
          onProgress: ({ phase, bytes }) => phases.push(`${phase} ${bytes}`),
        });
        assert.equal(put.state, "committed");
        assert.equal(put.grants.length, 1);
        assert.equal(phases.at(-1), `upload ${size}`);
        const [grant] = await collect(builder.files.inbox());
        const { body, artifact } = await builder.files.get(grant!.artifact_id);
        assert.deepEqual(await bytesIn(body), bytes);
        assert.deepEqual(
          { key: artifact.key, size: artifact.size, mime: artifact.mime },
          { key: "plans/house", size, mime: "text/plain" },
        );
      } finally {
        await Deno.remove(path);
      }
    });
  }
}

Deno.test("put() of a text → its UTF-8; get() by key and by grant token → the same", async () => {
  const [planner, builder] = [await agentFiles("planner"), await agentFiles("builder")];
  await planner.files.put("über", "größer");
  const { token } = await planner.files.share("über", builder.agent.id);
  const targets = [
    [planner, "über"],
    [builder, { key: "über", agentId: planner.agent.id }],
    [builder, token],
  ] as const;
  for (const [{ files }, target] of targets) {
    const { body } = await files.get(target!);
    assert.equal(new TextDecoder().decode(await bytesIn(body)), "größer");
  }
});

Deno.test("unshare() → the access ends; remove() → the file ends", async () => {
  const [planner, builder] = [await agentFiles("planner"), await agentFiles("builder")];
  const { artifact_id } = await planner.files.put("plan", "1", { to: [builder.agent.id] });
  assert.equal((await planner.files.unshare("plan", builder.agent.id)).revoked, 1);
  await assert.rejects(builder.files.get(artifact_id), { code: "artifact_not_found", status: 404 });
  assert.equal((await collect(planner.files.list())).length, 1);
  await planner.files.remove("plan");
  assert.deepEqual(await collect(planner.files.list()), []);
});

Deno.test("get() of a key that only begins another → artifact_not_found", async () => {
  const { files } = await agentFiles("planner");
  await files.put("plans/house", "1");
  await assert.rejects(files.get("plans/h"), { code: "artifact_not_found" });
});

for (const [what, size] of [["more", 2], ["fewer", 4]] as const) {
  Deno.test(`put() of a stream with ${what} bytes than it says → source_size_mismatch, and nothing is left`, async () => {
    const { files } = await agentFiles("planner");
    const source = { stream: streamOf(bytesOf(3)), size };
    await assert.rejects(files.put("plan", source), { code: "source_size_mismatch" });
    assert.deepEqual(await collect(files.list()), []);
  });
}

Deno.test("put() that the service refuses → an AgentError with the service's words", async () => {
  const { files } = await agentFiles("planner");
  const error = await files.put("plan", "1", { ttlDays: 0 }).catch((error) => error);
  assert.ok(error instanceof AgentError);
  assert.equal(error.code, "invalid_request");
  assert.equal(error.status, 422);
  assert.equal(error.retryable, false);
  assert.match(error.requestId!, /^[\w-]+$/);
  assert.equal((error.details as { issues: { path: string }[] }).issues[0]!.path, "ttl_days");
});

Deno.test("list() → every file in order of the keys; with a prefix, what it begins", async () => {
  const { files } = await agentFiles("planner");
  const keys = ["a", "b/1", "b/2", "c"];
  for (const key of keys) await files.put(key, key);
  assert.deepEqual((await collect(files.list())).map(({ key }) => key), keys);
  assert.deepEqual((await collect(files.list({ prefix: "b/" }))).length, 2);
});

Deno.test("inbox() with wait → what is there, then what comes, each once, until it is aborted", async () => {
  const [planner, builder] = [await agentFiles("planner"), await agentFiles("builder")];
  const to = [builder.agent.id];
  await planner.files.put("first", "1", { to });
  const controller = new AbortController();
  const keys: string[] = [];
  const reason = new Error("enough");
  await assert.rejects(async () => {
    for await (const { key } of builder.files.inbox({ wait: true, signal: controller.signal })) {
      keys.push(key);
      if (key === "first") await planner.files.put("second", "2", { to });
      if (key === "second") await planner.files.put("third", "3", { to });
      if (key === "third") controller.abort(reason);
    }
  }, reason);
  assert.deepEqual(keys, ["first", "second", "third"]);
});

Deno.test("any method with an aborted signal → rejects with its reason, and asks nobody", async () => {
  const reason = new Error("stop");
  const { files } = await agentFiles("planner", {
    signal: AbortSignal.abort(reason),
    fetch: () => assert.fail("asked"),
  });
  await assert.rejects(files.put("plan", "1"), reason);
  await assert.rejects(files.get("plan"), reason);
  await assert.rejects(collect(files.inbox()), reason);
});

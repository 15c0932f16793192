/** The packed package in Cloudflare's runtime (workerd), run by Miniflare. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createAgent, SUPABASE_URL } from "../../conformance/client.ts";
import { inProject, succeed } from "./tools.ts";

const SIZE = 8 * 1024 ** 2;

/** Puts bytes and a stream, gets both, and compares them. Then calls a service that redirects. */
const WORKER = `
import { AgentFiles } from "agent-files";

const bytes = new Uint8Array(${SIZE}).map((_, index) => index * 31 + (index >> 8) * 7);

function stream() {
  let sent = 0;
  return new ReadableStream({
    pull(controller) {
      if (sent === bytes.length) return controller.close();
      controller.enqueue(bytes.slice(sent, sent += 65536));
    },
  });
}

async function isEqual(files, key) {
  const { body } = await files.get(key);
  const received = new Uint8Array(await new Response(body).arrayBuffer());
  return received.length === bytes.length && received.every((byte, index) => byte === bytes[index]);
}

export default {
  async fetch(request) {
    const { url, key, redirecting } = await request.json();
    const files = new AgentFiles({ url, key });
    await files.put("bytes", bytes);
    await files.put("stream", { stream: stream(), size: bytes.length });
    const equal = [await isEqual(files, "bytes"), await isEqual(files, "stream")];
    const refused = await new AgentFiles({ url: redirecting, key }).put("x", "1").catch(String);
    const upload = await new AgentFiles({ url, key, fetch: (input, init) =>
      fetch(init.method === "PUT" ? redirecting : input, init)
    }).put("x", "1").catch(String);
    const platform = [navigator.userAgent, typeof process];
    return Response.json({ equal, refused, upload, platform });
  },
};`;

const RUNNER = `
import { readFile } from "node:fs/promises";
import { Miniflare } from "miniflare";
const { flags, ...body } = JSON.parse(process.argv[2]);
const worker = new Miniflare({
  modules: [{ type: "ESModule", path: "worker.mjs", contents: await readFile("worker.mjs", "utf8") }],
  compatibilityDate: "2026-04-01",
  compatibilityFlags: flags,
});
try {
  const init = { method: "POST", body: JSON.stringify(body) };
  const answer = await worker.dispatchFetch("http://worker.example/", init);
  process.stdout.write(await answer.text());
} finally {
  await worker.dispose();
}`;

Deno.test("the packed package in workerd → put and get of 8 MiB, as bytes and as a stream; no redirect is followed", async (test) => {
  await inProject(["esbuild", "miniflare"], async (folder) => {
    await writeFile(join(folder, "source.js"), WORKER);
    await writeFile(join(folder, "run.js"), RUNNER);
    const bundle = ["source.js", "--bundle", "--format=esm", "--outfile=worker.mjs"];
    await succeed(join(folder, "node_modules/.bin/esbuild"), bundle, { cwd: folder });
    const asked: string[] = [];
    await using server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      (request) => {
        asked.push(new URL(request.url).pathname);
        return Response.redirect(new URL("/elsewhere", request.url));
      },
    );
    for (const flags of [[], ["nodejs_compat"]]) {
      await test.step(`flags: ${flags.join() || "none"}`, async () => {
        asked.length = 0;
        const { key } = await createAgent("worker");
        const redirecting = `http://127.0.0.1:${server.addr.port}`;
        const given = JSON.stringify({ flags, url: SUPABASE_URL, key, redirecting });
        const result = JSON.parse(await succeed("node", ["run.js", given], { cwd: folder }));
        assert.deepEqual(result.equal, [true, true]);
        assert.match(result.refused, /HTTP 302, but not from the service/);
        assert.match(result.upload, /Storage refused the upload: HTTP 302/);
        assert.deepEqual(asked, ["/functions/v1/agent-artifacts/register", "/"]);
        const hasProcess = flags.length > 0 ? "object" : "undefined";
        assert.deepEqual(result.platform, ["Cloudflare-Workers", hasProcess]);
      });
    }
  });
});

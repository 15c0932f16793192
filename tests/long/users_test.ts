/** Signed-in users with supabase-js from npm, in Node and in a browser. */
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readPins } from "../../dev/pins/pins.ts";
import { readSigningKey } from "../../packages/local/auth/signing_key.ts";
import { signUserToken } from "../../packages/local/auth/user_token.ts";
import { THROW_AWAY } from "../../packages/local/stack/options.ts";
import { type Stack, startStack } from "../../packages/local/stack/stack.ts";
import { type Page, withPage } from "../browser/chromium.ts";
import { MEBIBYTE } from "../own_function/commits/memory.ts";

const SIZE = 60 * MEBIBYTE;

/** What a program knows about its user. */
interface SignedIn {
  readonly url: string;
  readonly publishableKey: string;
  readonly token: string;
}

/** Installs supabase-js from npm, in the version that is pinned here, into a folder of its own. */
async function installSupabaseJs(folder: string): Promise<void> {
  const pins = await readPins();
  const named = pins["@supabase/supabase-js"]!.replace("npm:", "");
  await writeFile(join(folder, "package.json"), '{"private": true, "type": "module"}');
  const { code, stderr } = await new Deno.Command("npm", {
    args: ["install", "--no-audit", "--no-fund", named],
    cwd: folder,
  }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
}

/** A stack of its own, whose function accepts a file of this size. */
async function startLargeStack(stateDir: string): Promise<Stack> {
  return await startStack({
    ...THROW_AWAY,
    stateDir,
    storageSizeLimit: SIZE,
    functionVariables: { ARTIFACTS_MAX_SIZE_BYTES: String(SIZE) },
  });
}

/** A page on an origin of its own that contains only supabase-js. */
async function withApp(
  folder: string,
  test: (page: Page) => Promise<void>,
): Promise<void> {
  const library = await readFile(
    join(folder, "node_modules/@supabase/supabase-js/dist/umd/supabase.js"),
  );
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) =>
      request.url.endsWith("/supabase.js")
        ? new Response(library, { headers: { "content-type": "text/javascript" } })
        : new Response("<!doctype html><script src=/supabase.js></script>", {
          headers: { "content-type": "text/html" },
        }),
  );
  await withPage(async (page) => {
    await page.goto(`http://127.0.0.1:${server.addr.port}/`);
    await test(page);
  });
}

const NODE_PROGRAM = `
import { createClient } from "@supabase/supabase-js";
const { url, publishableKey, token } = JSON.parse(process.argv[2]);
// Node 20 has no WebSocket, which Realtime asks for at once, and nothing here uses.
const client = createClient(url, publishableKey, { realtime: { transport: class {} } });
const session = await client.auth.setSession({ access_token: token, refresh_token: "none" });
if (session.error) throw session.error;
const { data, error } = await client.functions.invoke("agent-artifacts/list", { body: {} });
if (error) throw error;
console.log(JSON.stringify(data));
process.exit(0);
`;

/** The page's program: as its user, put a file, list, get it back. Returns the keys and digests. */
async function putListAndGet({ user, size }: { user: SignedIn; size: number }) {
  // deno-lint-ignore no-explicit-any -- The page's own global, of the library's script.
  const { createClient } = (globalThis as any).supabase;
  const client = createClient(user.url, user.publishableKey);
  const session = await client.auth.setSession({
    access_token: user.token,
    refresh_token: "none",
  });
  if (session.error) throw session.error;
  const invoke = async (path: string, body: object) => {
    const { data, error } = await client.functions.invoke(`agent-artifacts/${path}`, { body });
    if (error) throw new Error(await error.context.text());
    return data;
  };
  const sha256 = async (bytes: BufferSource) =>
    Array.from(
      new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)),
      (byte) => byte.toString(16).padStart(2, "0"),
    ).join("");

  const bytes = new Uint8Array(size).map((_, index) => index * 31 + (index >> 8));
  const digest = await sha256(bytes);
  const { artifact_id, upload } = await invoke("register", {
    key: "scans/large.bin",
    mime: "application/octet-stream",
    size,
    ttl_days: 1,
  });
  const uploaded = await client.storage.from(upload.bucket)
    .uploadToSignedUrl(upload.path, upload.token, new Blob([bytes]));
  if (uploaded.error) throw uploaded.error;
  let artifact;
  do artifact = await invoke("commit", { artifact_id, sha256: digest }); while (
    artifact.state === "verifying"
  );
  const { artifacts } = await invoke("list", {});
  const { url } = await invoke("open", { artifact_id });
  const received = await (await fetch(url)).arrayBuffer();
  return {
    keys: artifacts.map((listed: { key: string }) => listed.key),
    digests: [artifact.sha256, await sha256(received)],
    digest,
    size: received.byteLength,
  };
}

Deno.test("supabase-js with a signed-in user's token, in Chromium from another origin and in Node → list, upload, commit and download of 60 MiB", async (test) => {
  const directory = await Deno.makeTempDir();
  await Deno.chmod(directory, 0o711);
  const stateDir = join(directory, "state");
  const folder = join(directory, "app");
  await mkdir(stateDir, { mode: 0o711 });
  await mkdir(folder);
  const stack = await startLargeStack(stateDir);
  try {
    await installSupabaseJs(folder);
    const { url, publishableKey } = stack;
    const key = await readSigningKey(stateDir, { make: false });
    const ada = { sub: crypto.randomUUID(), agentId: "ada" };
    const user = { url, publishableKey, token: await signUserToken(key, ada, { url }) };

    await test.step("Chromium", async () => {
      await withApp(folder, async (page) => {
        const done = await page.evaluate(putListAndGet, { user, size: SIZE });
        assert.deepEqual(done.keys, ["scans/large.bin"]);
        assert.deepEqual(done.digests, [done.digest, done.digest]);
        assert.equal(done.size, SIZE);
      });
    });
    await test.step("Node", async () => {
      await writeFile(join(folder, "list.js"), NODE_PROGRAM);
      const { code, stdout, stderr } = await new Deno.Command("node", {
        args: ["list.js", JSON.stringify(user)],
        cwd: folder,
      }).output();
      assert.equal(code, 0, new TextDecoder().decode(stderr));
      const { artifacts } = JSON.parse(new TextDecoder().decode(stdout));
      assert.deepEqual(artifacts.map((listed: { key: string }) => listed.key), [
        "scans/large.bin",
      ]);
    });
  } finally {
    await stack.stop();
    await Deno.remove(directory, { recursive: true });
  }
});

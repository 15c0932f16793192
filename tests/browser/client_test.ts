/** The client's package as npm installs it, in a page on a separate origin. */
import assert from "node:assert/strict";
import { extname, join, normalize } from "node:path";
import { installPackage } from "../long/installed_package.ts";
import { artifactTest, leavesUnchanged, publish, sha256 } from "../conformance/artifacts.ts";
import { SUPABASE_URL } from "../conformance/client.ts";
import { type Page, withPage } from "./chromium.ts";

/** An import map is enough for a page that uses the package without a bundler. */
const PAGE = `<!doctype html><script type="importmap">
{"imports": {
  "agent-files": "/node_modules/agent-files/dist/agent-files/index.js",
  "@noble/hashes/": "/node_modules/@noble/hashes/"
}}
</script>`;

const MIME_TYPES: Readonly<Record<string, string>> = { ".js": "text/javascript" };

/**
 * Opens a page that can import the package. `loaded` has the paths that the page requested,
 * `errors` the console's errors.
 */
async function withInstalledPage(
  test: (page: Page, loaded: readonly string[], errors: readonly string[]) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await installPackage(folder);
    const loaded: string[] = [];
    await using server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      async ({ url }) => {
        const path = normalize(new URL(url).pathname);
        if (path === "/favicon.ico") return new Response(null, { status: 204 });
        if (path === "/") return new Response(PAGE, { headers: { "content-type": "text/html" } });
        loaded.push(path);
        const type = MIME_TYPES[extname(path)];
        if (type === undefined) return new Response(null, { status: 404 });
        return new Response(await Deno.readFile(join(folder, path)), {
          headers: { "content-type": type },
        });
      },
    );
    await withPage(async (page) => {
      const errors: string[] = [];
      page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
      page.on("pageerror", (error) => errors.push(String(error)));
      await page.goto(`http://127.0.0.1:${server.addr.port}/`);
      await test(page, loaded, errors);
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

interface Handing {
  readonly url: string;
  readonly planner: { readonly id: string; readonly key: string };
  readonly builder: { readonly id: string; readonly key: string };
  /** An artifact of another agent. */
  readonly closedArtifactId: string;
}

/** Runs in the page: one agent waits for a file that another one puts. */
async function handOver({ url, planner, builder, closedArtifactId }: Handing) {
  const specifier = "agent-files";
  const { AgentError, AgentFiles } = await import(specifier);
  const mine = new AgentFiles({ url, key: planner.key, agentId: planner.id });
  const theirs = new AgentFiles({ url, key: builder.key, agentId: builder.id });
  const bytes = new Uint8Array(3 * 1024 ** 2).map((_, index) => index * 31 + (index >> 8));

  const arrived = (async () => {
    for await (const grant of theirs.inbox({ wait: true })) {
      const { artifact, body } = await theirs.get(grant.artifact_id);
      const received = new Uint8Array(await new Response(body).arrayBuffer());
      return {
        from: grant.from_agent,
        key: artifact.key,
        mime: artifact.mime,
        sha256: artifact.sha256,
        isEqual: received.length === bytes.length &&
          received.every((byte, index) => byte === bytes[index]),
      };
    }
    return null;
  })();
  const progress = new Map<string, number>();
  await mine.put("scans/page.bin", new Blob([bytes]), {
    to: [builder.id],
    mime: "image/x-scan",
    onProgress: ({ phase, bytes }: { phase: string; bytes: number }) => progress.set(phase, bytes),
  });
  const refused = await theirs.get(closedArtifactId).catch((error: unknown) => error);
  return {
    arrived: await arrived,
    progress: Object.fromEntries(progress),
    refused: refused instanceof AgentError
      ? [refused.status, refused.code, refused.retryable]
      : String(refused),
  };
}

artifactTest(
  "the installed package in a page of another origin → one agent puts 3 MiB, the other waits for it and gets its bytes; what is not its own is refused",
  async ({ planner, builder, stranger }) => {
    const closed = await publish(stranger);
    await withInstalledPage(async (page, loaded) => {
      const handing = {
        url: SUPABASE_URL,
        planner,
        builder,
        closedArtifactId: closed.artifact_id,
      };
      await leavesUnchanged([stranger], async () => {
        const { arrived, progress, refused } = await page.evaluate(handOver, handing);
        const bytes = new Uint8Array(3 * 1024 ** 2).map((_, index) => index * 31 + (index >> 8));
        assert.deepEqual(arrived, {
          from: planner.id,
          key: "scans/page.bin",
          mime: "image/x-scan",
          sha256: sha256(bytes),
          isEqual: true,
        });
        assert.deepEqual(progress, { upload: bytes.length });
        assert.deepEqual(refused, [404, "artifact_not_found", false]);
      });
      // The page loaded nothing for Node, the command line or MCP.
      const others = loaded.filter((path) =>
        !/^\/node_modules\/(agent-files\/dist\/(?!cli\/)|@noble\/hashes\/)/.test(path)
      );
      assert.deepEqual(others, []);
    });
  },
);

/** Runs in the page: puts streams with the right size and with wrong sizes. */
async function putStreams({ url, key }: { readonly url: string; readonly key: string }) {
  const specifier = "agent-files";
  const { AgentFiles } = await import(specifier);
  const files = new AgentFiles({ url, key });
  const bytes = new Uint8Array(3 * 1024 ** 2).map((_, index) => index * 31 + (index >> 8));
  const stream = () => new Blob([bytes]).stream();
  const codeOf = async (promise: Promise<unknown>) =>
    await promise.then(() => null, (error) => error.code ?? String(error));
  await files.put("once", { stream: stream(), size: bytes.length });
  await files.put("again", { stream, size: bytes.length });
  const isEqual = async (name: string) => {
    const { body } = await files.get(name);
    const received = new Uint8Array(await new Response(body).arrayBuffer());
    return received.length === bytes.length &&
      received.every((byte, index) => byte === bytes[index]);
  };
  return {
    equal: [await isEqual("once"), await isEqual("again")],
    codes: [
      await codeOf(files.put("more", { stream, size: bytes.length - 1 })),
      await codeOf(files.put("fewer", { stream, size: bytes.length + 1 })),
      await codeOf(files.put("path", { path: "/etc/hostname" })),
    ],
    keys: await Array.fromAsync(files.list(), ({ key }: { key: string }) => key),
  };
}

artifactTest(
  "a stream in a page → put, and its bytes come back; of another size → source_size_mismatch, and no file; nothing red in the console",
  async ({ planner }) => {
    await withInstalledPage(async (page, _loaded, errors) => {
      const { equal, codes, keys } = await page.evaluate(putStreams, {
        url: SUPABASE_URL,
        key: planner.key,
      });
      assert.deepEqual(equal, [true, true]);
      assert.deepEqual(codes, ["source_size_mismatch", "source_size_mismatch", "invalid_request"]);
      assert.deepEqual(keys, ["again", "once"]);
      assert.deepEqual(errors, []);
    });
  },
);

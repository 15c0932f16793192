import assert from "node:assert/strict";
import { runTask } from "../../../local/tests/stack/stack_process.ts";

/** The state of an artifact's object in Storage. */
type Stored = "there" | "gone" | "unreadable" | "no answer";

const ANSWERS: Record<Stored, () => Response> = {
  "there": () => new Response("x", { status: 206, headers: { "content-range": "bytes 0-0/1" } }),
  "gone": () => Response.json({ code: "NoSuchKey", statusCode: "404" }, { status: 400 }),
  "unreadable": () => Response.json({ message: "Internal Server Error" }, { status: 500 }),
  "no answer": () => new Response("", { status: 503 }),
};

/** Runs `fsck --bytes` on simulated pages of artifacts. Page 1, place 2 is `art_12`. */
async function check(pages: readonly (readonly Stored[])[], ...args: string[]) {
  const named = pages.map((page, number) =>
    page.map((stored, place) => ({ id: `art_${number + 1}${place + 1}`, stored }))
  );
  const marked: string[] = [];
  const rpc: Record<string, (parameters: { after?: string; lost_paths?: string[] }) => unknown> = {
    list_sealed_artifacts({ after = "" }) {
      const number = after === "" ? 0 : named.findIndex((page) => page.at(-1)!.id === after) + 1;
      const found = named[number]!.map(({ id }) => ({
        artifact_id: id,
        path: `sealed/${id}/1`,
        size: 1,
        sha256: "",
        is_lost: false,
      }));
      return { found, next: number + 1 < named.length ? found.at(-1)!.artifact_id : null };
    },
    list_totals: () => ({ found: [], next: null }),
    count_archived_versions: () => ({
      found: [{ versions: 0, bytes: 0, versioning: "DISABLED" }],
      next: null,
    }),
    mark_lost_artifacts({ lost_paths = [] }) {
      const ids = lost_paths.map((path) => path.split("/")[1]!);
      marked.push(...ids);
      return { lost: ids, recovered: [] };
    },
  };
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const [area, , , name] = new URL(request.url).pathname.slice(1).split("/");
    if (area === "rest") {
      return Response.json(rpc[name!.slice("agent_api_".length)]!(await request.json()));
    }
    const artifact = named.flat().find(({ id }) => request.url.includes(`/${id}/`))!;
    return ANSWERS[artifact.stored]();
  });
  try {
    const { code, output, errors } = await runTask("agentops fsck", {
      // `--from` with `--bytes` checks only the bytes.
      args: ["--bytes", "--rate", "1000", "--from", "", ...args],
      environment: {
        SUPABASE_URL: `http://127.0.0.1:${server.addr.port}`,
        SUPABASE_SECRET_KEY: "sb_secret_x",
      },
    });
    return { code, lines: output.split("\n").filter(Boolean), errors, marked: marked.sort() };
  } finally {
    await server.shutdown();
  }
}

const lost = (id: string, why: string) => `lost bytes: ${id} sealed/${id}/1: ${why}`;

Deno.test("fsck --bytes where Storage fails at page 3 → what pages 1 and 2 have lost is printed and marked; it goes on behind them", async () => {
  const pages: Stored[][] = [["there", "unreadable"], ["gone", "unreadable"], ["no answer"]];
  const { code, lines, errors, marked } = await check(pages);
  assert.equal(code, 1);
  assert.deepEqual(lines, [
    lost("art_12", "Storage cannot read it"),
    lost("art_21", "Storage has no such object"),
    lost("art_22", "Storage cannot read it"),
  ]);
  assert.deepEqual(marked, ["art_12", "art_21", "art_22"]);
  assert.match(errors, /To go on: --bytes --from art_22$/);
});

Deno.test("fsck --bucket-is-lost where Storage cannot be asked at page 2 → page 1 is marked; it goes on behind it, as --bucket-is-lost", async () => {
  const pages: Stored[][] = [["unreadable"], ["no answer"]];
  const { code, errors, marked } = await check(pages, "--bucket-is-lost", "--yes");
  assert.deepEqual([code, marked], [1, ["art_11"]]);
  assert.match(errors, /To go on: --bucket-is-lost --from art_11$/);
});

Deno.test("fsck --bytes where nothing could be read before Storage fails → marks nothing unreadable, and does not say to go on behind it", async () => {
  const pages: Stored[][] = [["unreadable"], ["unreadable"], ["no answer"]];
  const { code, lines, errors, marked } = await check(pages);
  assert.deepEqual([code, lines, marked], [1, [], []]);
  assert.match(errors, /^Storage cannot be asked for sealed\/art_31\/1: HTTP 503\.$/);
});

Deno.test("fsck --bytes where the first object that can be read is on page 2 → what page 1 has lost is marked then", async () => {
  const { code, lines, marked } = await check([["unreadable"], ["there"], ["there"]]);
  assert.deepEqual([code, marked], [1, ["art_11"]]);
  assert.deepEqual(lines, [lost("art_11", "Storage cannot read it")]);
});

/** The TypeScript package, in the runtimes of JavaScript. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { HOSTED_DENO_ENVIRONMENT, locateHostedDeno } from "../../../../dev/deploy/hosted_deno.ts";
import { withPage } from "../../../browser/chromium.ts";
import { runtimeIn, succeed } from "../../runtimes/tools.ts";
import type { Given, Outcome } from "../hand_over.ts";

const HAND_OVER = `
import { AgentError, AgentFiles } from "agent-files";

export async function handOver({ url, planner, builder, closedId, file }) {
  const bytes = new Uint8Array(file.size).map((_, index) => index * 31 + (index >> 8));
  const mine = new AgentFiles({ url, key: planner.key });
  const theirs = new AgentFiles({ url, key: builder.key });
  await mine.put(file.key, bytes, { to: [builder.id] });
  const outcome = {};
  for await (const grant of theirs.inbox()) {
    const { body } = await theirs.get(grant.artifact_id);
    const received = await new Response(body).arrayBuffer();
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", received));
    outcome.sha256 = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
    outcome.from = grant.from_agent;
  }
  const error = await theirs.get(closedId).then(() => null, (error) => error);
  outcome.refused = error instanceof AgentError ? error.status + " " + error.code : String(error);
  return outcome;
}`;

const MAIN = `
import process from "node:process";
import { handOver } from "./hand_over.js";
const version = globalThis.Deno?.version.deno ?? globalThis.Bun?.version ?? process.version;
console.log(JSON.stringify({ version, ...await handOver(JSON.parse(process.argv[2])) }));`;

const WORKER = `
import { handOver } from "./hand_over.js";
export default {
  async fetch(request) {
    return Response.json(await handOver(await request.json()));
  },
};`;

const MINIFLARE = `
import { readFile } from "node:fs/promises";
import { Miniflare } from "miniflare";
const contents = await readFile("worker.mjs", "utf8");
const worker = new Miniflare({
  modules: [{ type: "ESModule", path: "worker.mjs", contents }],
  compatibilityDate: "2026-04-01",
});
try {
  const init = { method: "POST", body: process.argv[2] };
  const answer = await worker.dispatchFetch("http://worker.example/", init);
  process.stdout.write(await answer.text());
} finally {
  await worker.dispose();
}`;

/** Writes the programs into a project that has the packed package, esbuild and miniflare. */
export async function writeJavaScript(folder: string): Promise<void> {
  const files = { hand_over: HAND_OVER, main: MAIN, worker: WORKER, miniflare: MINIFLARE };
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(folder, `${name}.js`), text);
  }
  const esbuild = join(folder, "node_modules/.bin/esbuild");
  const worker = ["worker.js", "--bundle", "--format=esm", "--outfile=worker.mjs"];
  await succeed(esbuild, worker, { cwd: folder });
  const page = ["hand_over.js", "--bundle", "--format=iife", "--global-name=seat"];
  await succeed(esbuild, [...page, "--outfile=page.js"], { cwd: folder });
}

export async function byNode(
  folder: string,
  name: "node20" | "node22" | "node24" | "bun",
  given: Given,
): Promise<Outcome> {
  const args = ["main.js", JSON.stringify(given)];
  return JSON.parse(await succeed(runtimeIn(folder, name), args, { cwd: folder }));
}

export async function byDeno(
  folder: string,
  which: "this" | "hosted",
  given: Given,
): Promise<Outcome> {
  const deno = which === "this" ? Deno.execPath() : await locateHostedDeno();
  const args = ["run", "--allow-all", "--no-lock", "main.js", JSON.stringify(given)];
  const env = { ...HOSTED_DENO_ENVIRONMENT, DENO_NO_UPDATE_CHECK: "1" };
  return JSON.parse(await succeed(deno, args, { cwd: folder, env }));
}

export async function byWorkerd(folder: string, given: Given): Promise<Outcome> {
  const workerd = join(folder, "node_modules/.bin/workerd");
  const version = (await succeed(workerd, ["--version"], { cwd: folder })).trim();
  const args = ["miniflare.js", JSON.stringify(given)];
  return { version, ...JSON.parse(await succeed("node", args, { cwd: folder })) };
}

export async function byChromium(folder: string, given: Given): Promise<Outcome> {
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response("<!doctype html>", { headers: { "content-type": "text/html" } }),
  );
  return await withPage(async (page) => {
    await page.goto(`http://127.0.0.1:${server.addr.port}/`);
    await page.addScriptTag({ path: join(folder, "page.js") });
    const outcome = await page.evaluate(
      // deno-lint-ignore no-explicit-any -- The page's own global, of the bundle.
      (given) => (globalThis as any).seat.handOver(given),
      given,
    );
    return { version: page.context().browser()!.version(), ...outcome };
  });
}

import assert from "node:assert/strict";
import type { SentPath } from "../../index.ts";
import { PathReports } from "../../follow/path_reports.ts";

const OFTEN = { look: 5, pause: 20 };

function path(agent_id: string, via: SentPath["via"], age = 1): SentPath {
  return { agent_id, handshake_age_seconds: age, endpoint: null, via };
}

/** A wait that only its signal ends. */
function forever(signal: AbortSignal): Promise<boolean> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}

Deno.test("a path that changes while a request waits → the wait ends without news, not before", async () => {
  let via: SentPath["via"] = "none";
  let age = 0;
  const reports = new PathReports(() => [path("a", "relay"), path("builder", via, age++)], OFTEN);
  assert.deepEqual((await reports.report()).paths.map(({ via }) => via), ["relay", "none"]);
  let isOver = false;
  const waits = reports.until(forever, undefined).finally(() => isOver = true);
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(isOver, false, "only its age is another");
  via = "direct";
  assert.equal(await waits, false);
  const told = await reports.report();
  assert.equal(told.paths[1]!.via, "direct");
  assert.equal(await reports.until(() => Promise.resolve(true), undefined), true);
});

Deno.test("paths that can no longer be read → the wait ends; the next report throws", async () => {
  let isGone = false;
  const reports = new PathReports(() => {
    if (isGone) throw new Error("the tunnel is gone");
    return [];
  }, OFTEN);
  await reports.report();
  isGone = true;
  assert.equal(await reports.until(forever, undefined), false);
  await assert.rejects(reports.report(), { message: "the tunnel is gone" });
});

Deno.test("a wait that is aborted, or fails → its own reason", async () => {
  const reports = new PathReports(() => [], OFTEN);
  await reports.report();
  const signal = AbortSignal.abort(new Error("enough"));
  const rejects = (given: AbortSignal) => Promise.reject(given.reason);
  await assert.rejects(reports.until(rejects, signal), { message: "enough" });
  const failing = () => Promise.reject(new Error("refused"));
  await assert.rejects(reports.until(failing, undefined), { message: "refused" });
});

Deno.test("more paths than the service takes → the first 64", async () => {
  const many = Array.from({ length: 70 }, (_, number) => path(`agent-${number}`, "direct"));
  const { paths } = await new PathReports(() => Promise.resolve(many)).report();
  assert.deepEqual(paths, many.slice(0, 64));
});

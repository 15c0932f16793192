import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import {
  artifactTest,
  register,
  sha256 as digestOf,
  tryRegister,
  upload,
} from "../conformance/artifacts.ts";
import { startOwnFunction } from "./own_function.ts";

const MEBIBYTE = 1024 * 1024;

/** A figure of /proc/<pid>/status in bytes: VmRSS is now, VmHWM the most so far. */
function memoryOf(pid: number, figure: "VmRSS" | "VmHWM"): number {
  const line = readFileSync(`/proc/${pid}/status`, "utf8").match(`${figure}:\\s+(\\d+) kB`);
  return Number(line![1]) * 1024;
}

artifactTest(
  "committing 50 MiB raises the function's resident memory by less than 16 MiB",
  async ({ planner }) => {
    const size = 50 * MEBIBYTE;
    const bytes = new Uint8Array(size);
    for (let index = 0; index < size; index += 4096) bytes[index] = index / 4096;
    const sha256 = digestOf(bytes);
    const registration = {
      agent_id: planner.id,
      key: "large",
      mime: "application/x-test",
      size,
      ttl_days: 1,
    };
    const registered = await tryRegister(planner, registration);
    assert.equal(registered.status, 200);
    assert.equal(await upload(registered.body.upload_url, bytes), 200);

    await using own = await startOwnFunction();
    // A small commit first, so that code that is loaded at first use is not counted.
    const small = await register(planner, { key: "small", content: "small" });
    assert.equal(await upload(small.upload_url, "small"), 200);
    const warmUp = { artifact_id: small.artifact_id, sha256: digestOf("small") };
    assert.equal((await own.post("/commit", { as: planner, body: warmUp })).status, 200);

    const { pid } = own.process;
    const before = memoryOf(pid, "VmRSS");
    const peakBefore = memoryOf(pid, "VmHWM");
    const body = { artifact_id: registered.body.artifact_id, sha256 };
    assert.equal((await own.post("/commit", { as: planner, body })).status, 200);
    const peak = memoryOf(pid, "VmHWM");
    const raised = peak > peakBefore ? peak - before : memoryOf(pid, "VmRSS") - before;
    assert.ok(raised < 16 * MEBIBYTE, `raised by ${(raised / MEBIBYTE).toFixed(1)} MiB`);
  },
);

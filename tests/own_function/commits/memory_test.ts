import assert from "node:assert/strict";
import {
  artifactTest,
  registerAndUpload,
  sha256,
  tryRegister,
  upload,
} from "../../conformance/artifacts.ts";
import { commitBy } from "./commits.ts";
import { inMebibytes, MEBIBYTE, memoryOf } from "./memory.ts";
import { startOwnFunction } from "../own_function.ts";

artifactTest(
  "/commit of 50 MiB → the function's resident memory rises by less than 16 MiB",
  async ({ planner }) => {
    const size = 50 * MEBIBYTE;
    const bytes = new Uint8Array(size);
    for (let index = 0; index < size; index += 4096) bytes[index] = index / 4096;
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
    // Make a small commit first: the code that the first commit loads does not count.
    const small = await registerAndUpload(planner, { key: "small" });
    assert.equal((await commitBy(own, { owner: planner, artifact: small })).status, 200);

    const { pid } = own.process;
    const before = memoryOf(pid, "VmRSS");
    const peakBefore = memoryOf(pid, "VmHWM");
    const request = { owner: planner, artifact: registered.body, digest: sha256(bytes) };
    assert.equal((await commitBy(own, request)).status, 200);
    const peak = memoryOf(pid, "VmHWM");
    const raised = peak > peakBefore ? peak - before : memoryOf(pid, "VmRSS") - before;
    assert.ok(raised < 16 * MEBIBYTE, `raised by ${inMebibytes(raised)}`);
  },
);

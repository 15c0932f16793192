import { ok, strictEqual } from "node:assert/strict";
import { assertError, SUPABASE_URL } from "../conformance/service.ts";
import {
  artifactTest,
  commit,
  publish,
  register,
  sha256,
  upload,
} from "../conformance/artifacts.ts";
import { startOwnFunction } from "../faults/own_function.ts";
import { gate, startProxy } from "../faults/proxy.ts";

artifactTest(
  "PostgREST or Storage that never answers → 503 with retry-after once the deadline is over; then all goes on",
  async ({ planner }) => {
    const hang = gate();
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    const artifact = await publish(planner);
    const toCommit = await register(planner, { key: "other" });
    await upload(toCommit.upload_url, "hello");
    const committing = { artifact_id: toCommit.artifact_id, sha256: sha256("hello") };
    const registration = {
      agent_id: planner.id,
      key: "k",
      mime: "text/plain",
      size: 1,
      ttl_days: 1,
    };

    const hanging = [
      "/object/upload/sign/",
      "/object/sign/",
      "/rpc/list_artifacts",
      "/object/info/",
    ];
    proxy.intercept(({ path }) =>
      hanging.some((call) => path.includes(call))
        ? hang.wait().then(() => new Response(null, { status: 503 }))
        : undefined
    );
    // All at once: each takes as long as the deadline.
    const requests = {
      "/register": registration,
      "/open": { artifact_id: artifact.artifact_id },
      "/list": { agent_id: planner.id },
      "/commit": committing,
    };
    const answers = await Promise.all(
      Object.entries(requests).map(([path, body]) => own.post(path, { as: planner, body })),
    );
    for (const answer of answers) {
      assertError(answer, 503, "upstream_unavailable");
      ok(Number(answer.headers.get("retry-after")) > 0);
    }
    hang.open();
    proxy.intercept(() => {});
    for (const [path, body] of Object.entries(requests)) {
      strictEqual((await own.post(path, { as: planner, body })).status, 200, path);
    }
    strictEqual((await commit(planner, toCommit, sha256("hello"))).status, 200);
  },
);

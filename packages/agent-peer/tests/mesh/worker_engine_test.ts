import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { Worker } from "node:worker_threads";
import { openWorkerEngine } from "../../mesh/worker/worker_engine.ts";

/** A thread that answers every call, accepts one connection at each port, and sends no bytes. */
function pretendedThread() {
  const thread = new EventEmitter();
  const say = (message: unknown) => queueMicrotask(() => thread.emit("message", message));
  Object.assign(thread, {
    postMessage({ id, call, port }: { id: number; call: string; port?: number }) {
      say({ is: "answer", id, value: null });
      if (call !== "listen") return;
      const remote = { address: "10.213.0.2", port: 40_000 };
      say({ is: "accepted", port, remote, stream: new MessageChannel().port2 });
    },
    terminate: () => Promise.resolve(0),
  });
  say({ is: "ready" });
  return thread;
}

const HOOKS = { iceServers: () => Promise.resolve(null), onEndpoints() {}, onFailure() {} };

Deno.test("the thread tells what no rule allowed → onRefused is called with it, and onFlow is not needed", async () => {
  const thread = pretendedThread();
  const refused: unknown[] = [];
  const options = { privateKey: new Uint8Array(32) };
  const hooks = { ...HOOKS, onRefused: (flow: unknown) => refused.push(flow) };
  const engine = await openWorkerEngine(thread as unknown as Worker, options, hooks);
  thread.emit("message", { is: "refused", flow: { port: 80 } });
  await engine.close();
  assert.deepEqual(refused, [{ port: 80 }]);
});

for (const how of ["ends", "fails", "is closed"] as const) {
  Deno.test(`the thread ${how} → reads of connected and accepted connections fail, they do not end or wait`, async () => {
    const thread = pretendedThread();
    const options = { privateKey: new Uint8Array(32) };
    const engine = await openWorkerEngine(thread as unknown as Worker, options, HOOKS);
    const connected = await engine.connect({ address: "10.213.0.2", port: 80 });
    const accepted = await new Promise<typeof connected>((resolve) =>
      void engine.listen(8080, (stream) => resolve(stream))
    );
    const reads = [connected, accepted].map((stream) =>
      assert.rejects(stream.read(), { name: "TcpError", code: "ECONNABORTED" })
    );
    if (how === "ends") thread.emit("exit", 1);
    else if (how === "fails") thread.emit("message", { is: "failure", message: "Broken." });
    else await engine.close();
    await Promise.all(reads);
    await assert.rejects(connected.write(new Uint8Array(1)), { code: "ECONNABORTED" });
  });
}

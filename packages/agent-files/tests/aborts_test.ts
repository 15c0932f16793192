/** `abort()` inside a loop over an iterator: nothing more is yielded, whatever has arrived. */
import assert from "node:assert/strict";
import { AgentMesh } from "../index.ts";
import { SUPABASE_URL } from "../../../tests/conformance/client.ts";
import { agentFiles } from "./cast.ts";

const ITEMS = 5;

Deno.test("abort() at the second item of inbox, list, grants, events; by the call's signal and the client's → the reason, and no third item", async () => {
  const reason = new Error("enough");
  const all = new AbortController();
  const planner = await agentFiles("planner");
  const builder = await agentFiles("builder");
  for (let number = 0; number < ITEMS; number++) {
    await planner.files.put(`plan ${number}`, "1", { to: [builder.agent.id] });
  }
  const iterators: Record<string, (signal: AbortSignal) => AsyncIterable<unknown>> = {
    inbox: (signal) => builder.files.inbox({ signal }),
    "inbox that waits": (signal) => builder.files.inbox({ signal, wait: true }),
    "inbox of one sender": (signal) =>
      builder.files.inbox({ signal, wait: true, fromAgent: planner.agent.id }),
    list: (signal) => planner.files.list({ signal }),
    grants: (signal) => planner.files.grants({ signal }),
    events: (signal) => planner.files.events({ signal }),
    "events that wait": (signal) => planner.files.events({ signal, wait: true }),
  };
  for (const [name, start] of Object.entries(iterators)) {
    const aborted = new AbortController();
    let seen = 0;
    const loop = async () => {
      for await (const _ of start(aborted.signal)) {
        seen++;
        if (seen === 2) aborted.abort(reason);
      }
    };
    await assert.rejects(loop(), reason, name);
    assert.equal(seen, 2, name);
  }

  const { files } = await agentFiles("planner", { signal: all.signal });
  for (let number = 0; number < ITEMS; number++) await files.put(`plan ${number}`, "1");
  let seen = 0;
  const loop = async () => {
    for await (const _ of files.list()) {
      seen++;
      all.abort(reason);
    }
  };
  await assert.rejects(loop(), reason);
  assert.equal(seen, 1);
});

Deno.test("abort() at the first event of the mesh, of two → the reason, and no second one", async () => {
  const { agent } = await agentFiles("planner");
  const mesh = new AgentMesh({ url: SUPABASE_URL, key: agent.key, agentId: agent.id });
  for (const port of [1, 2, 3]) {
    await mesh.allow({ from_agent: agent.id, to_agent: "other", port, proto: "tcp" });
  }
  const aborted = new AbortController();
  let seen = 0;
  const loop = async () => {
    for await (const _ of mesh.events({ signal: aborted.signal })) {
      seen++;
      aborted.abort(new Error("enough"));
    }
  };
  await assert.rejects(loop(), /enough/);
  assert.equal(seen, 1);
});

/** `configurations()` that reports paths, alone and together with an inbox of the same agent. */
import assert from "node:assert/strict";
import type { InboxEntry, WgQuickConfiguration } from "../../index.ts";
import { type Asked, clients, EMPTY, QUIET } from "./played_service.ts";

type Next = () => Promise<Asked>;

async function readFirst(
  configurations: AsyncGenerator<WgQuickConfiguration>,
  next: Next,
): Promise<void> {
  const first = configurations.next();
  (await next()).answer({ config: "", config_version: 7 });
  await first;
}

/** Asserts that the next request is for the inbox alone, and answers it with a grant. */
async function assertInboxGoesOn(
  grant: Promise<IteratorResult<InboxEntry>>,
  next: Next,
): Promise<void> {
  const alone = await next();
  assert.deepEqual(alone.body, { inbox_after: "1:1:", wait_seconds: 140 });
  alone.answer({ ...QUIET, inbox: { latest: "2:2:", changed: true } });
  (await next()).answer({ ...EMPTY, grants: [{ grant_id: "grant_1" }] });
  assert.equal((await grant).value?.grant_id, "grant_1");
}

Deno.test("configurations() with paths → each request says how they are now; where they throw, it ends, and the inbox waits on", async () => {
  const { files, mesh, next } = clients("ak_paths");
  const path = { agent_id: "builder", endpoint: "203.0.113.7:51820", via: "direct" } as const;
  const ages = [3, 7];
  const configurations = mesh.configurations({}, {
    paths: () => {
      const age = ages.shift();
      if (age === undefined) throw new Error("the tunnel is gone");
      return [{ ...path, handshake_age_seconds: age }];
    },
  });
  await readFirst(configurations, next);
  const told = configurations.next();
  for (const handshake_age_seconds of [3, 7]) {
    const held = await next();
    const paths = [{ ...path, handshake_age_seconds }];
    assert.deepEqual(held.body, { config_version: 7, paths, wait_seconds: 140 });
    held.answer({ ...QUIET, config_version: 7 });
  }
  const grant = files.inbox({ wait: true }).next();
  const ended = assert.rejects(told, { message: "the tunnel is gone" });
  (await next()).answer(EMPTY);
  await ended;
  await assertInboxGoesOn(grant, next);
});

Deno.test("paths that the service refuses → the configurations end, and the inbox waits on", async () => {
  const { files, mesh, next } = clients("ak_refused");
  const configurations = mesh.configurations({}, { paths: () => [] });
  await readFirst(configurations, next);
  const grant = files.inbox({ wait: true }).next();
  (await next()).answer(EMPTY);
  const told = configurations.next();
  let held = await next();
  while (held.body["paths"] === undefined || held.body["inbox_after"] === undefined) {
    held = await next();
  }
  const ended = assert.rejects(told, { code: "invalid_request" });
  held.answer({ error: { code: "invalid_request", message: "Wrong.", details: {} } }, 422);
  await ended;
  await assertInboxGoesOn(grant, next);
});

Deno.test("paths that are not read to the end, and an abort → the inbox waits on; what they throw later is nobody else's", async () => {
  const { files, mesh, next } = clients("ak_hanging");
  const aborted = new AbortController();
  const read = Promise.withResolvers<never>();
  const hanging = mesh.configurations({}, { paths: () => read.promise, signal: aborted.signal });
  await readFirst(hanging, next);
  const grant = files.inbox({ wait: true }).next();
  (await next()).answer(EMPTY);
  const waits = hanging.next();
  await new Promise((resolve) => setTimeout(resolve, 300));
  aborted.abort(new Error("enough"));
  await assert.rejects(waits, { message: "enough" });

  const others = mesh.configurations();
  const second = others.next();
  let asked = await next();
  while (asked.path !== "/agent-mesh/wg_config") asked = await next();
  asked.answer({ config: "", config_version: 7 });
  await second;
  const third = others.next();
  let both = await next();
  while (Object.keys(both.body).length < 3) both = await next();
  assert.deepEqual(both.body, { config_version: 7, inbox_after: "1:1:", wait_seconds: 140 });
  read.reject(new Error("its own trouble"));
  await new Promise((resolve) => setTimeout(resolve, 10));
  assert.equal(both.signal.aborted, false);
  both.answer({ ...QUIET, config_version: 8, inbox: { latest: "2:2:", changed: true } });
  for (let reads = 0; reads < 2; reads++) {
    const { path, answer } = await next();
    answer(
      path.endsWith("/inbox")
        ? { ...EMPTY, grants: [{ grant_id: "grant_1" }] }
        : { config: "", config_version: 8 },
    );
  }
  assert.equal((await grant).value?.grant_id, "grant_1");
  assert.equal((await third).value?.config_version, 8);
});

Deno.test("configurations() with paths at a deployment without /wait → its heartbeats say them", async () => {
  const { mesh, next } = clients("ak_older_paths");
  const path = { agent_id: "builder", handshake_age_seconds: null, endpoint: null } as const;
  const paths = () => Promise.resolve([{ ...path, via: "none" as const }]);
  const configurations = mesh.configurations({}, { paths });
  await readFirst(configurations, next);
  const second = configurations.next();
  (await next()).answer({ error: { code: "not_found", message: "No such path." } }, 404);
  const heartbeat = await next();
  assert.equal(heartbeat.path, "/agent-mesh/peer/heartbeat");
  assert.deepEqual(heartbeat.body["paths"], await paths());
  heartbeat.answer({ config_version: 8, heartbeat_interval_seconds: 30 });
  (await next()).answer({ config: "", config_version: 8 });
  assert.equal((await second).value?.config_version, 8);
});

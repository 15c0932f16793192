/** Everything that an operator, or an agent, can end, before and after a backup. */
import assert from "node:assert/strict";
import { registerPeer } from "./lost_changes.ts";
import {
  agentWithKey,
  configOf,
  FILES,
  linkOf,
  MESH,
  newPubkey,
  rpc,
  statusOfLink,
  task,
} from "./requests.ts";
import type { RestorableStack } from "./restorable_stack.ts";

interface Ending {
  readonly name: string;
  readonly make: () => Promise<unknown>;
  /** Whether it has ended. */
  readonly hasEnded: () => Promise<boolean>;
}

const policyAt = (...ports: number[]) =>
  JSON.stringify({ rules: [{ from: ["tag:web"], to: ["hub"], ports, proto: "tcp" }] });

/** Applies a policy by the SQL function alone: no task, no dashboard. */
async function applyPolicy(exercise: RestorableStack, source: string): Promise<void> {
  const policy = { source, rules: JSON.parse(source).rules, agents: [] };
  const { fingerprint } = await rpc(exercise, "plan_policy", { policy, max_entries: 0 });
  await rpc(exercise, "apply_policy", { policy, expect: fingerprint });
}

/** Arranges what will end. `make` of each ends it after the backup. */
export async function arrangeEndings(exercise: RestorableStack): Promise<readonly Ending[]> {
  const ask = (path: string, body: object, key?: string) => () => exercise.ask(path, body, key);
  const call = (name: string, body: object) => () => rpc(exercise, name, body);
  const keyWorks = async (key: string) =>
    (await exercise.post(`${FILES}/list`, {}, key)).status === 200;
  for (const agent_id of ["hub", "spoke", "web"]) await registerPeer(exercise, agent_id);
  const rule = (from_agent: string, port: number) => ({
    from_agent,
    to_agent: "hub",
    proto: "tcp",
    port,
  });
  const hubHas = async (text: string) => (await configOf(exercise, "hub")).includes(text);

  /** An agent with a key, a link, and a peer that the hub sees. */
  async function member(agent_id: string) {
    const { key, key_id } = await agentWithKey(exercise, agent_id);
    const link = await linkOf(exercise, key, `${agent_id}.txt`);
    const pubkey = newPubkey();
    await exercise.ask(`${MESH}/peer/register`, { agent_id, pubkey });
    await exercise.ask(`${MESH}/acl/put`, rule(agent_id, 22));
    return {
      key,
      key_id,
      ...link,
      pubkey,
      async isGone(): Promise<boolean> {
        const { acls } = await exercise.ask(`${MESH}/netmap`, { agent_id: "hub" });
        const isIn = acls.some(({ from_agent }: { from_agent: string }) => from_agent === agent_id);
        return !isIn && !await hubHas(pubkey) && !await keyWorks(key);
      },
    };
  }
  const [removed, erased, keeping] = [
    await member("removed"),
    await member("erased"),
    await member("keeping"),
  ];
  const spare = await agentWithKey(exercise, "erased");
  const [planner, leaked] = [
    await agentWithKey(exercise, "planner"),
    await agentWithKey(exercise, "planner"),
  ];
  const reader = await agentWithKey(exercise, "reader");
  const [revoked, deleted] = [
    await linkOf(exercise, planner.key, "revoked.txt"),
    await linkOf(exercise, planner.key, "deleted.txt"),
  ];
  const many = [
    await agentWithKey(exercise, "many"),
    await agentWithKey(exercise, "many"),
  ];

  const enrolment = await exercise.ask(`${FILES}/enrolment/put`, {
    kind: "key",
    uses_left: 1,
    quota_bytes: 5_000,
  });
  const enrolled = await exercise.ask(
    `${FILES}/enroll`,
    { enrolment_key: enrolment.enrolment_key, agent_name: "ci" },
    "nobody",
  );
  const leaving = await exercise.ask(`${FILES}/enrolment/put`, { kind: "key", uses_left: 1 });
  const left = await exercise.ask(
    `${FILES}/enroll`,
    { enrolment_key: leaving.enrolment_key, agent_name: "leaving" },
    "nobody",
  );

  const limitsOf = async ({ enrolment_id }: { readonly enrolment_id: string }) => {
    const { enrolments } = await exercise.ask(`${FILES}/enrolment/list`, {});
    const { max_agents, quota_bytes } = enrolments.find((one: { enrolment_id: string }) =>
      one.enrolment_id === enrolment_id
    );
    return [max_agents, quota_bytes];
  };

  for (const port of [80, 81, 82]) await exercise.ask(`${MESH}/acl/put`, rule("spoke", port));
  const hasRule = async (from: string, port: number) => {
    const { acls } = await exercise.ask(`${MESH}/netmap`, { agent_id: "hub" });
    return acls.some((acl: { from_agent: string; port: number }) =>
      acl.from_agent === from && acl.port === port
    );
  };
  const pskOfSpoke = async () =>
    /^PresharedKey = (.+)$/m.exec(await configOf(exercise, "spoke"))![1]!;
  const psk = await pskOfSpoke();
  const replacing = newPubkey();
  const endpoints = ["198.51.100.7:51820", "[2001:db8::7]:51820"];
  await exercise.ask(`${MESH}/peer/register`, {
    agent_id: "rekeyed",
    pubkey: newPubkey(),
    endpoints,
    listen_port: 4500,
  });
  await exercise.ask(`${MESH}/acl/put`, rule("rekeyed", 22));

  await rpc(exercise, "set_agent_quota", { agent_id: "planner", quota_bytes: 9_000_000 });
  await rpc(exercise, "set_agent_quota", { agent_id: "reader", quota_bytes: 5_000 });
  await rpc(exercise, "set_agent_tags", { agent_id: "web", tags: ["tag:web", "tag:old"] });
  await applyPolicy(exercise, policyAt(443, 8443));
  const described = async (agent_id: string) =>
    await rpc(exercise, "read_agent", { agent_id }) as {
      quota_bytes: number | null;
      tags: string[];
      blocked_senders: string[];
    };
  const hub = () => exercise.ask(`${MESH}/netmap`, { agent_id: "hub" });
  assert.ok((await hub()).acls.length > 5);

  return [
    {
      name: "agent remove, by the task",
      make: () => task(exercise, "agentops agent remove", "removed", "--yes"),
      hasEnded: async () =>
        await removed.isGone() && await statusOfLink(exercise, removed.token) === 410,
    },
    {
      name: "remove_agent that keeps the files",
      make: call("remove_agent", { agent_id: "keeping", keep_artifacts: true }),
      async hasEnded() {
        const { artifacts } = await exercise.ask(`${FILES}/list`, { agent_id: "keeping" });
        return artifacts.length === 1 && await keeping.isGone() &&
          await statusOfLink(exercise, keeping.token) === 410;
      },
    },
    {
      name: "agent erase of an agent with a revoked key",
      async make() {
        await rpc(exercise, "revoke_agent_key", { key_id: spare.key_id });
        const args = ["erased", "--confirm", "erased"];
        const { code, errors } = await task(exercise, "agentops agent erase", ...args);
        assert.equal(code, 0, errors);
      },
      async hasEnded() {
        const { mentions } = await rpc(exercise, "count_mentions", { agent_id: "erased" });
        const named = Object.values(mentions as Record<string, number>);
        return named.every((count) => count === 0) && await erased.isGone() &&
          await statusOfLink(exercise, erased.token) !== 200;
      },
    },
    {
      name: "revoke_agent_key",
      make: call("revoke_agent_key", { key_id: leaked.key_id }),
      hasEnded: async () => !await keyWorks(leaked.key) && await keyWorks(planner.key),
    },
    {
      name: "revoke_agent_keys",
      make: call("revoke_agent_keys", { agent_id: "many" }),
      hasEnded: async () => !await keyWorks(many[0]!.key) && !await keyWorks(many[1]!.key),
    },
    {
      name: "/revoke of a grant",
      make: ask(`${FILES}/revoke`, { grant_id: revoked.grant_id }, planner.key),
      hasEnded: async () => await statusOfLink(exercise, revoked.token) === 410,
    },
    {
      name: "/delete of a file",
      make: ask(`${FILES}/delete`, { artifact_id: deleted.artifact_id }, planner.key),
      hasEnded: async () => await statusOfLink(exercise, deleted.token) === 410,
    },
    {
      name: "/enrolment/revoke",
      make: ask(`${FILES}/enrolment/revoke`, { enrolment_id: enrolment.enrolment_id }),
      hasEnded: async () => !await keyWorks(enrolled.key),
    },
    {
      name: "/leave",
      make: () => exercise.ask(`${FILES}/leave`, {}, left.key),
      hasEnded: async () => !await keyWorks(left.key),
    },
    {
      name: "/acl/revoke",
      make: ask(`${MESH}/acl/revoke`, rule("spoke", 80)),
      hasEnded: async () => !await hasRule("spoke", 80),
    },
    {
      name: "/acl/revoke of a rule that is agreed to again: it stays",
      async make() {
        await exercise.ask(`${MESH}/acl/revoke`, rule("spoke", 81));
        await exercise.ask(`${MESH}/acl/put`, rule("spoke", 81));
      },
      hasEnded: () => hasRule("spoke", 81),
    },
    {
      name: "/peer/register with another public key",
      make: ask(`${MESH}/peer/register`, {
        agent_id: "rekeyed",
        pubkey: replacing,
        endpoints,
        listen_port: 4500,
      }),
      async hasEnded() {
        const { peers } = await exercise.ask(`${MESH}/netmap`, { agent_id: "rekeyed" });
        const self = peers.find(({ self }: { self: boolean }) => self);
        const own = await configOf(exercise, "rekeyed");
        return self.pubkey === replacing && self.endpoints.join() === endpoints.join() &&
          own.includes("ListenPort = 4500") && await hubHas(replacing);
      },
    },
    {
      name: "/psk/rotate",
      make: ask(`${MESH}/psk/rotate`, { a: "hub", b: "spoke" }),
      hasEnded: async () => await pskOfSpoke() !== psk,
    },
    {
      name: "set_agent_quota",
      make: call("set_agent_quota", { agent_id: "planner", quota_bytes: 1_000_000 }),
      hasEnded: async () => (await described("planner")).quota_bytes === 1_000_000,
    },
    {
      name: "set_agent_quota back to the project's",
      make: call("set_agent_quota", { agent_id: "reader", quota_bytes: null }),
      hasEnded: async () => (await described("reader")).quota_bytes === null,
    },
    {
      name: "set_enrolment_limits, twice",
      async make() {
        for (const limits of [{ max_agents: 7 }, { max_agents: 5, quota_bytes: 3_000 }]) {
          await rpc(exercise, "set_enrolment_limits", {
            caller: { kind: "operator" },
            enrolment_id: leaving.enrolment_id,
            limits,
          });
        }
      },
      hasEnded: async () => (await limitsOf(leaving)).join() === "5,3000",
    },
    {
      name: "set_enrolment_limits back to the default quota",
      make: call("set_enrolment_limits", {
        caller: { kind: "operator" },
        enrolment_id: enrolment.enrolment_id,
        limits: { quota_bytes: null },
      }),
      hasEnded: async () => (await limitsOf(enrolment))[1] === null,
    },
    {
      name: "set_agent_tags",
      make: call("set_agent_tags", { agent_id: "web", tags: ["tag:web", "tag:new"] }),
      hasEnded: async () => (await described("web")).tags.toSorted().join() === "tag:new,tag:web",
    },
    {
      name: "apply_policy, twice",
      async make() {
        await applyPolicy(exercise, policyAt(443, 8443, 9443));
        await applyPolicy(exercise, policyAt(443));
      },
      hasEnded: async () => await hasRule("web", 443) && !await hasRule("web", 8443),
    },
    {
      name: "/inbox/block",
      make: ask(`${FILES}/inbox/block`, { from_agent: "planner" }, reader.key),
      hasEnded: async () => (await described("reader")).blocked_senders.join() === "planner",
    },
  ];
}

export async function assertEnded(endings: readonly Ending[], expected: boolean): Promise<void> {
  for (const { name, hasEnded } of endings) {
    // A rule that was agreed to again is there before and after.
    if (!expected && name.endsWith(": it stays")) continue;
    assert.equal(await hasEnded(), expected, name);
  }
}

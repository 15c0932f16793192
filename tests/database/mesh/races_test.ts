import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import {
  agentNames,
  type ConfigurationState,
  type MeshDatabase,
  meshDatabaseForThisFile,
  randomPubkey,
  Refusal,
  untilDone,
} from "./mesh_database.ts";

const file = meshDatabaseForThisFile();

const AGENTS = agentNames(6);

Deno.test("two agents with a rule between them register at once → each sees the other, at versions 2 and 1", async () => {
  const { mesh } = file;
  await mesh.startOver();
  for (let round = 0; round < 40; round++) {
    const [alice, bob] = [`alice-${round}`, `bob-${round}`] as [string, string];
    await mesh.put({ from_agent: alice, to_agent: bob });
    await Promise.all([mesh.register(alice), mesh.register(bob)]);
    const states = await Promise.all([mesh.configuration(alice), mesh.configuration(bob)]);
    assert.deepEqual(states.map((state) => state?.peers.map(({ agent_id }) => agent_id)), [
      [bob],
      [alice],
    ]);
    // The second registration changes the first agent's configuration, so its version is 2.
    assert.deepEqual(states.map((state) => state?.config_version).sort(), [1, 2]);
  }
});

Deno.test("16 agents register one pubkey at once → one has it, 15 get pubkey_in_use and are no peers", async () => {
  const { mesh } = file;
  await mesh.startOver();
  const pubkey = randomPubkey();
  const settled = await Promise.allSettled(
    agentNames(16).map((name) => untilDone(() => mesh.register(name, { pubkey }))),
  );
  assert.equal(settled.filter(({ status }) => status === "fulfilled").length, 1);
  for (const outcome of settled) {
    if (outcome.status === "rejected") assert.equal(outcome.reason.message, "pubkey_in_use");
  }
  const [left] = await mesh.owner`select count(*)::integer as peers from mesh.peers`;
  assert.equal(left?.["peers"], 1);
});

Deno.test("two agents take each other's pubkey at once → pubkey_in_use for both, no deadlock", async () => {
  const { mesh } = file;
  await mesh.startOver();
  const pubkeys = { alice: randomPubkey(), bob: randomPubkey() };
  await mesh.register("alice", { pubkey: pubkeys.alice });
  await mesh.register("bob", { pubkey: pubkeys.bob });
  for (let round = 0; round < 20; round++) {
    const settled = await Promise.allSettled([
      mesh.register("alice", { pubkey: pubkeys.bob }),
      mesh.register("bob", { pubkey: pubkeys.alice }),
    ]);
    assert.deepEqual(
      settled.map((outcome) => outcome.status === "rejected" && outcome.reason.message),
      ["pubkey_in_use", "pubkey_in_use"],
    );
  }
  const held = await mesh.owner`select agent_id, pubkey from mesh.peers order by agent_id`;
  assert.deepEqual(held.map((peer) => peer["pubkey"]), [pubkeys.alice, pubkeys.bob]);
});

Deno.test("32 first PSKs of one pair at once, from both sides → one is kept, everybody is told that one", async () => {
  const { mesh } = file;
  await mesh.startOver();
  await mesh.put({ from_agent: "alice", to_agent: "bob" });
  await Promise.all([mesh.register("alice"), mesh.register("bob")]);
  const sides = await Promise.all([mesh.configuration("alice"), mesh.configuration("bob")]);
  const answers = await Promise.all(
    Array.from(
      { length: 32 },
      (_, index) => untilDone(() => mesh.storePsks(present(sides[index % 2]))),
    ),
  );
  const told = new Set(answers.map(({ peers }) => peers[0]?.encrypted_psk));
  assert.equal(told.size, 1);
  assert.ok([...told][0]?.startsWith("v1."));
});

for (const replacement of ["a rotation", "another pubkey of either side"]) {
  Deno.test(`${replacement} before there is a PSK → its version stays, and a PSK that was made meanwhile is stored`, async () => {
    const { mesh } = file;
    await mesh.startOver();
    await mesh.put({ from_agent: "alice", to_agent: "bob" });
    await Promise.all([mesh.register("alice"), mesh.register("bob")]);
    const before = present(await mesh.configuration("alice"));
    const replace = async () => {
      if (replacement === "a rotation") return await mesh.rotate("bob", "alice");
      await mesh.register("alice");
      return await mesh.register("bob");
    };

    await replace();
    const stored = await mesh.storePsks(before);
    assert.equal(pskOf(stored).psk_version, 1);
    assert.ok(pskOf(stored).encrypted_psk !== null);

    await replace();
    const emptied = present(await mesh.configuration("alice"));
    assert.deepEqual(pskOf(emptied), { psk_version: 2, encrypted_psk: null });
    await replace();
    assert.deepEqual(pskOf(present(await mesh.configuration("alice"))), pskOf(emptied));
  });
}

Deno.test("a PSK that was made for an older version → stored if the pair has none, with that version beside it", async () => {
  const { mesh } = file;
  await mesh.startOver();
  await mesh.put({ from_agent: "alice", to_agent: "bob" });
  await Promise.all([mesh.register("alice"), mesh.register("bob")]);
  const stale = present(await mesh.configuration("alice"));
  await mesh.storePsks(present(await mesh.configuration("bob")));
  await mesh.rotate("alice", "bob");

  const stored = await mesh.storePsks(stale);
  assert.equal(pskOf(stored).psk_version, 2);
  assert.ok(pskOf(stored).encrypted_psk !== null);
  assert.equal(stored.peers[0]?.encrypted_version, 1);
  assert.deepEqual(await mesh.storePsks(stale), stored, "one that is there stays");
  await mesh.rotate("alice", "bob");
  const next = await mesh.storePsks(present(await mesh.configuration("bob")));
  assert.deepEqual([pskOf(next).psk_version, next.peers[0]?.encrypted_version], [3, 3]);
});

Deno.test("a pair that is made while another is waited for, and that somebody else has locked → not waited for; the next call stores its PSK", async () => {
  const { mesh } = file;
  await mesh.startOver();
  await mesh.put({ from_agent: "alice", to_agent: "bob" });
  await Promise.all(["alice", "bob", "carol"].map((name) => mesh.register(name)));
  const state = present(await mesh.configuration("alice"));
  const withCarol = {
    ...state,
    peers: ["bob", "carol"].map((agent_id) => ({
      ...present(state.peers[0]),
      agent_id,
    })),
  };
  const isMade = ({ peers }: ConfigurationState) =>
    peers.map(({ agent_id, encrypted_psk }) => [agent_id, encrypted_psk !== null]);

  await mesh.owner.begin(async (other) => {
    let storing: Promise<ConfigurationState> | undefined;
    await mesh.owner.begin(async (sql) => {
      await sql`select mesh.lock_pairs('alice')`;
      storing = mesh.storePsks(withCarol);
      await untilSomebodyWaits(mesh);
      await mesh.put({ from_agent: "alice", to_agent: "carol" });
      await other`select mesh.lock_pairs('carol')`;
    });
    assert.deepEqual(isMade(present(await storing)), [["bob", true], ["carol", false]]);
  });
  const next = await mesh.storePsks(present(await mesh.configuration("alice")));
  assert.deepEqual(isMade(next), [["bob", true], ["carol", true]]);
});

Deno.test("revocations, rotations and removals that name nobody known → no row of mesh.config_versions", async () => {
  const { mesh } = file;
  await mesh.startOver();
  await mesh.revoke({ from_agent: "nobody", to_agent: "noone" });
  assert.deepEqual(await mesh.remove("nobody"), { agent_id: "nobody", removed: false });
  const rotation = await mesh.rotate("nobody", "noone").catch((error: Error) => error.message);
  assert.equal(rotation, "peer_not_found");
  const [count] = await mesh.owner`select count(*)::integer as versions from mesh.config_versions`;
  assert.equal(count?.["versions"], 0);
});

Deno.test("600 changes by everybody at once → no deadlock; a version never has two texts, and every pair and address is there", async () => {
  const { mesh } = file;
  await mesh.startOver();
  const textsByVersion = new Map<string, string>();
  let storming = true;
  const reader = readWhile(() => storming, { mesh, textsByVersion });
  const outcomes = await Promise.allSettled(
    Array.from({ length: 600 }, () => untilDone(randomChange(mesh))),
  );
  storming = false;
  await reader;

  const unexpected = outcomes.flatMap((outcome) =>
    outcome.status === "rejected" && !isExpected(outcome.reason) ? [String(outcome.reason)] : []
  );
  assert.deepEqual(unexpected, []);

  const [broken] = await mesh.owner`
    select
      (select count(*) from mesh.pairs p where mesh.see_each_other(p.low_agent, p.high_agent))::integer
        - (
          select count(*)
          from mesh.peers low join mesh.peers high on low.agent_id < high.agent_id
          where mesh.see_each_other(low.agent_id, high.agent_id)
        )::integer as pairs_missing,
      (
        select count(*)
        from mesh.address_leases l
        where (l.released_at is null) <> exists (select from mesh.peers p where p.agent_id = l.agent_id)
      )::integer as leases_astray,
      (select count(*) from mesh.peers p left join mesh.liveness l using (agent_id) where l is null)::integer
        as liveness_missing`;
  assert.deepEqual({ ...broken }, { pairs_missing: 0, leases_astray: 0, liveness_missing: 0 });
});

Deno.test("a change waits for one that holds the same agent, and for nobody else's", async () => {
  const { mesh } = file;
  await mesh.startOver();
  await Promise.all(["alice", "bob", "carol", "dave"].map((name) => mesh.register(name)));
  let waiting: Promise<unknown> | undefined;
  await mesh.owner.begin(async (sql) => {
    await sql`select mesh.lock_agents(array['alice', 'bob'])`;
    waiting = untilDone(() => mesh.register("bob"));
    await mesh.put({ from_agent: "carol", to_agent: "dave" });
    await mesh.register("carol");
    await untilSomebodyWaits(mesh);
  });
  await waiting;
});

/** A random change between two random agents. */
function randomChange(mesh: MeshDatabase): () => Promise<unknown> {
  const one = randomInt(AGENTS.length);
  const other = (one + 1 + randomInt(AGENTS.length - 1)) % AGENTS.length;
  const [a, b] = [AGENTS[one], AGENTS[other]] as [string, string];
  const rule = { from_agent: a, to_agent: b, port: 80 + randomInt(2) };
  const changes = [
    () => mesh.register(a),
    () => mesh.register(a, { endpoint: `host-${randomInt(3)}.example:7` }),
    () => mesh.put(rule),
    () => mesh.put(rule),
    () => mesh.put(rule),
    () => mesh.revoke(rule),
    () => mesh.rotate(a, b),
    () => mesh.remove(a),
    async () => {
      const state = await mesh.configuration(a);
      if (state !== null) await mesh.storePsks(state);
    },
    () =>
      mesh.call("record_heartbeat", {
        caller: { kind: "operator" },
        agent_id: a,
        config_version: 1,
      }),
  ];
  return present(changes[randomInt(changes.length)]);
}

/** Reads configurations repeatedly: a version of an agent must always have the same text. */
async function readWhile(
  goesOn: () => boolean,
  { mesh, textsByVersion }: { mesh: MeshDatabase; textsByVersion: Map<string, string> },
): Promise<void> {
  while (goesOn()) {
    for (const name of AGENTS) {
      const state = await mesh.configuration(name);
      if (state === null) continue;
      const version = `${name} ${state.config_version}`;
      const text = JSON.stringify(withoutWhatIsNotInTheText(state));
      assert.equal(text, textsByVersion.get(version) ?? text, version);
      textsByVersion.set(version, text);
    }
  }
}

/** Creating a PSK changes no version, and neither do outbound rules, which are only in JSON. */
function withoutWhatIsNotInTheText(state: ConfigurationState) {
  const peers = state.peers.map((
    { encrypted_psk: _made, encrypted_version: _with, outbound_rules: _only, ...peer },
  ) => peer);
  return { ...state, peers };
}

function isExpected(error: unknown): boolean {
  return error instanceof Refusal && error.message === "peer_not_found";
}

async function untilSomebodyWaits(mesh: MeshDatabase): Promise<void> {
  for (;;) {
    const [waiting] = await mesh.owner`
      select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    if (waiting !== undefined) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

function pskOf({ peers }: ConfigurationState) {
  const { psk_version, encrypted_psk } = present(peers[0]);
  return { psk_version, encrypted_psk };
}

function present<Value>(value: Value | null | undefined): Value {
  if (value === null || value === undefined) throw new Error("There should be one.");
  return value;
}

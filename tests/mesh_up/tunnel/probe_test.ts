/** Why a port is not reached: each cause is made, and `mesh probe` must name it. */
import assert from "node:assert/strict";
import { succeed } from "../../conformance/client.ts";
import { UNPRIVILEGED } from "../../sandbox/hosts/programs.ts";
import { type Member, Mesh, putRule, ruleBody } from "../../wireguard/hosts/mesh_of_hosts.ts";
import { listen, untilPingAnswered } from "../../wireguard/hosts/probes.ts";
import { eventually } from "../../wireguard/hosts/run_program.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import { SERVICE_ORIGIN } from "../../wireguard/hosts/service_door.ts";
import { PROGRAM } from "../hosts/command_line.ts";
import { HostAgent, joinWithAgents } from "../hosts/host_agent.ts";

interface Probed {
  readonly cause: string;
  readonly turn: string;
  readonly sentence: string;
}

/** What `mesh probe` says on a member's host, with its exit code. */
async function probe(
  from: Member,
  to: Member,
  place: number | string,
  before: readonly string[] = [],
): Promise<Probed & { readonly code: number }> {
  const { host, agent, interfaceName } = from;
  const command = ["mesh", "probe", to.agent.id, String(place), "--interface", interfaceName];
  const settings = [`AGENT_URL=${SERVICE_ORIGIN}`, `AGENT_KEY=${agent.key}`, "NO_COLOR=1"];
  const { output, errors, code } = await host.runAnyhow(
    [...before, "env", ...settings, ...PROGRAM, ...command, "--json"],
  );
  assert.match(output, /^\{/, errors);
  return { ...JSON.parse(output), code };
}

async function assertProbed(
  [from, to, place]: readonly [Member, Member, number | string],
  [cause, turn]: readonly [string, string],
  sentence: RegExp,
): Promise<void> {
  const probed = await probe(from, to, place);
  const text = JSON.stringify(probed);
  assert.deepEqual([probed.cause, probed.turn], [cause, turn], text);
  assert.match(probed.sentence, sentence);
  assert.equal(probed.code, cause === "none" ? 0 : 1);
}

/** Runs an action while a host drops what these rules name. */
async function whileDropping(
  { host }: Member,
  { hook, rules }: { readonly hook: "input" | "prerouting"; readonly rules: readonly string[] },
  action: () => Promise<void>,
): Promise<void> {
  const chain = (name: string, lines: readonly string[]) =>
    `chain ${name} { type filter hook ${name} priority -300; ${lines.join("; ")}; }`;
  const outgoing = chain("output", rules.map((rule) => rule.replace("dport", "sport")));
  const input = ["table inet faults {", chain(hook, rules), outgoing, "}"].join("\n");
  await host.run(["nft", "-f", "-"], { input });
  try {
    await action();
  } finally {
    await host.run(["nft", "delete", "table", "inet", "faults"]);
  }
}

tunnelTest(
  "mesh probe: no rule, one consent, wrong port, nothing listens, TCP dropped, UDP dropped, large packets lost → each is named, with whose turn it is",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    await listen(bob.host, { proto: "tcp", port: 443 });
    await assertProbed([alice, bob, 443], ["none", "nobody"], /is reached at 443\/tcp/);

    await assertProbed([bob, alice, 443], ["no_rule", "own"], /^No rule lets bob/);
    await assertProbed([alice, bob, 444], ["wrong_port", "own"], /only 443\/tcp/);
    const consents = [[alice, 445, "peer", bob], [bob, 446, "own", alice]] as const;
    for (const [by, port, turn, waitingFor] of consents) {
      const body = ruleBody({ from: alice, to: bob, proto: "tcp", port });
      await succeed("/agent-mesh/acl/put", { as: by.agent, body });
      const sentence = new RegExp(`^${waitingFor.agent.id} has not agreed`);
      await assertProbed([alice, bob, port], ["consent_missing", turn], sentence);
    }

    await putRule({ from: alice, to: bob, proto: "tcp", port: 80 });
    await putRule({ from: alice, to: bob, proto: "udp", port: 53 });
    await bob.meshAgent.untilApplied();
    await assertProbed([alice, bob, 80], ["nothing_listens", "peer"], /nothing listens on 80/);
    await assertProbed([alice, bob, "53/udp"], ["not_tested", "nobody"], /cannot be tested/);

    const tcp = { hook: "input", rules: ["tcp dport 443 drop"] } as const;
    await whileDropping(
      bob,
      tcp,
      () => assertProbed([alice, bob, 443], ["tcp_dropped", "peer"], /a firewall of its own/),
    );
    const large = {
      hook: "prerouting",
      rules: ["udp dport 51820 udp length > 1000 drop"],
    } as const;
    await whileDropping(
      bob,
      large,
      () =>
        assertProbed([alice, bob, 443], ["large_packets_lost", "operator"], /1,280 bytes do not/),
    );
    const udp = { hook: "prerouting", rules: ["udp dport 51820 drop"] } as const;
    await whileDropping(
      bob,
      udp,
      () =>
        assertProbed(
          [alice, bob, 443],
          ["no_path", "peer"],
          /no answer by UDP\. A firewall drops UDP/,
        ),
    );
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    await assertProbed([alice, bob, 443], ["none", "nobody"], /is reached/);
  },
);

tunnelTest(
  "mesh probe: another PSK in the interface, and another key → named on that host; of the PSK, the other host knows whose it is",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    await putRule({ from: bob, to: alice, proto: "tcp", port: 443 });
    for (const { meshAgent } of [alice, bob]) await meshAgent.untilApplied();
    const { host, interfaceName: device } = alice;
    // Its agent would put both back.
    alice.meshAgent.pause();
    const psk = `${host.directory}/other.psk`;
    await Deno.writeTextFile(psk, await host.run(["wg", "genpsk"]));
    await host.run(["wg", "set", device, "peer", bob.publicKey, "remove"]);
    await host.run(
      ["wg", "set", device, "peer", bob.publicKey, "preshared-key", psk, "allowed-ips"].concat(
        [`${bob.ipv4}/32,${bob.ipv6}/128`, "endpoint", bob.host.endpointAt(51820)!],
      ),
    );
    await assertProbed([alice, bob, 443], ["other_psk", "own"], /another PSK for bob/);
    host.start(["ping", "-n", "-i1", bob.ipv4], { logName: "pings" });
    await assertProbed([bob, alice, 443], ["peer_differs", "peer"], /another PSK/);

    const key = `${host.directory}/other.key`;
    await Deno.writeTextFile(key, await host.run(["wg", "genkey"]));
    await host.run(["wg", "set", device, "private-key", key]);
    await assertProbed([alice, bob, 443], ["other_key", "own"], /another key/);
    alice.meshAgent.resume();
  },
);

tunnelTest(
  "mesh probe: both behind NAT without a relay → the operator's turn; without root → the reports of both hosts decide",
  async () => {
    await using mesh = await Mesh.create();
    const carol = await mesh.join("carol", { behindNat: true });
    const dave = await mesh.join("dave", { behindNat: true });
    await putRule({ from: carol, to: dave, proto: "tcp", port: 443 });
    for (const member of [carol, dave]) await HostAgent.start(member, { mesh });
    const nat = /both are behind NAT, and no relay is set\. Set a relay/;
    await assertProbed([carol, dave, 443], ["no_path", "operator"], nat);
    await eventually("a user without rights is told the same, by the reports", {
      condition: async () => {
        const { cause, turn, sentence } = await probe(carol, dave, 443, UNPRIVILEGED);
        return cause === "no_path" && turn === "operator" && nat.test(sentence);
      },
    });
  },
);

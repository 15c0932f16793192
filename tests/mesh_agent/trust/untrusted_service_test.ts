/** An agent whose service or neighbour is malicious or faulty. */
import assert from "node:assert/strict";
import { eventually } from "../../wireguard/hosts/run_program.ts";
import { linkProgramsBut } from "../../wireguard/hosts/host.ts";
import {
  hasInterface,
  type Member,
  Mesh,
  peerField,
  putRule,
  servedConfiguration,
  TCP_443,
  TUNNEL_PORT,
} from "../../wireguard/hosts/mesh_of_hosts.ts";
import { untilPingAnswered } from "../../wireguard/hosts/probes.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import { referenceTest } from "../command_agent.ts";
import { joinWithAgents, ReferenceAgent } from "../reference_agent.ts";

const NEWER_VERSION = 10_000;

referenceTest(
  "/wg_config with hooks and rules of somebody else → the tunnel is changed, and none of them is run or loaded",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    const marks = ["up", "down", "pre"].map((name) => `${bob.host.directory}/${name}-was-run`);
    const ruleset = await bob.host.run(["nft", "-s", "list", "ruleset"]);
    const served = (await servedConfiguration(bob))
      .replaceAll(/^PostUp = .*$/gm, `PostUp = touch ${marks[0]}`)
      .replaceAll(/^PostDown = .*$/gm, `PostDown = touch ${marks[1]}\nPreUp = touch ${marks[2]}`)
      .replaceAll(/^#nft {5}(drop|ct direction.*)$/gm, "#nft     accept");
    serve(bob, served);
    await eventually("bob has applied it", {
      condition: async () =>
        (await bob.meshAgent.readLog()).includes(`config_version ${NEWER_VERSION} is applied`),
    });
    assert.equal(await bob.host.run(["nft", "-s", "list", "ruleset"]), ruleset);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });

    // Test both other ways to start the tunnel: from nothing, and from the last configuration.
    await bob.host.run(["ip", "link", "delete", bob.interfaceName]);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    await bob.meshAgent.stop("SIGTERM");
    bob.meshAgent.door.failWith("", () => new Response("", { status: 503 }));
    bob.meshAgent.restart();
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    assert.equal(await bob.meshAgent.stop("SIGTERM"), 0);
    assert.deepEqual(await Promise.all(marks.map(exists)), [false, false, false]);
  },
);

referenceTest(
  "/wg_config with a line that the agent does not know → it is named, and the tunnel stays as it was",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    const file = `${bob.host.directory}/${bob.interfaceName}.conf`;
    const before = [
      await Deno.readTextFile(file),
      await bob.host.run(["nft", "-s", "list", "ruleset"]),
    ];
    const served = await servedConfiguration(bob);
    for (const line of ["SaveConfig = true", "#nft flush ruleset", "postup = id"]) {
      serve(bob, served.replace("#nft table", `${line}\n#nft table`));
      await eventually(`${line} is named`, {
        condition: async () =>
          (await bob.meshAgent.readLog()).includes(`is not one that this agent knows: ${line}`),
      });
    }
    assert.deepEqual(
      [await Deno.readTextFile(file), await bob.host.run(["nft", "-s", "list", "ruleset"])],
      before,
    );
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
  },
);

referenceTest(
  "a configuration that was put there as it was served → none of its hooks is run at the start or the end",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    const mark = `${bob.host.directory}/was-run`;
    const file = `${bob.host.directory}/${bob.interfaceName}.conf`;
    await bob.meshAgent.stop("SIGKILL");
    const served = (await servedConfiguration(bob))
      .replaceAll(/^(PostUp|PostDown) = .*$/gm, `$1 = touch ${mark}`);
    await Deno.writeTextFile(file, served);
    bob.meshAgent.door.failWith("", () => new Response("", { status: 503 }));
    bob.meshAgent.restart();
    await eventually("the agent has made it its own", {
      condition: async () => !(await Deno.readTextFile(file)).includes(mark),
    });
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    assert.equal(await bob.meshAgent.stop("SIGTERM"), 0);
    assert.equal(await hasInterface(bob), false);
    assert.equal(await exists(mark), false);
  },
);

referenceTest(
  "SIGTERM while the agent takes over such a configuration → none of its hooks is run, and the tunnel is down",
  async () => {
    await using mesh = await Mesh.create();
    const { bob } = await joinWithAgents(mesh);
    const { directory } = bob.host;
    await bob.meshAgent.stop("SIGKILL");
    const served = (await servedConfiguration(bob))
      .replaceAll(/^(PostUp|PostDown) = .*$/gm, `$1 = touch ${directory}/was-run`);
    await Deno.writeTextFile(`${directory}/${bob.interfaceName}.conf`, served);
    const programs = await linkProgramsBut("awk", directory);
    await Deno.writeTextFile(
      `${programs}/awk`,
      `#!/bin/sh
touch ${directory}/reached
until [ -e ${directory}/proceed ]; do sleep 0.01; done
exec /usr/bin/awk "$@"
`,
      { mode: 0o755 },
    );
    bob.meshAgent.restart({ environment: { PATH: programs } });
    await eventually("the agent takes it over", {
      condition: () => exists(`${directory}/reached`),
    });

    const code = bob.meshAgent.stop("SIGTERM");
    await Deno.writeTextFile(`${directory}/proceed`, "");

    assert.equal(await code, 0);
    assert.equal(await hasInterface(bob), false);
    assert.equal(await exists(`${directory}/was-run`), false);
  },
);

tunnelTest(
  "/wait: the version that runs, in another spelling → it says so and fetches nothing",
  async () => {
    await using mesh = await Mesh.create();
    const { bob: { meshAgent } } = await joinWithAgents(mesh);
    const [, version] = /.*config_version (\d+) is applied/s.exec(await meshAgent.readLog())!;
    const fetched = () => meshAgent.door.paths.filter((path) => path.endsWith("/wg_config")).length;
    const before = fetched();
    meshAgent.door.replaceAnswers({
      "/wait": { config_version: `0${version}`, heartbeat_interval_seconds: 1 },
    });
    await eventually("the agent has said so", {
      condition: async () =>
        (await meshAgent.readLog()).includes("the answer has no config_version"),
    });
    assert.equal(fetched(), before);
  },
);

tunnelTest(
  "a peer's name that resolves to this host or into the mesh → it gets no endpoint; elsewhere → that one",
  async () => {
    await using mesh = await Mesh.create();
    const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
    const addresses: Record<string, string> = {
      loopback: "127.0.0.1",
      own: bob.host.address!,
      tunnel: bob.ipv4,
      mesh: alice.ipv4,
      mapped: "::ffff:127.0.0.1",
      loopback6: "::1",
      unspecified: "0.0.0.0",
    };
    const astray: Member[] = [];
    for (const [name, address] of Object.entries(addresses)) {
      astray.push(await mesh.join(name, { endpoint: `${name}.example:${TUNNEL_PORT}` }));
      await bob.host.resolve(`${name}.example`, address);
    }
    const carol = await mesh.join("carol", { endpoint: `carol.example:${TUNNEL_PORT}` });
    await bob.host.resolve("carol.example", "198.51.100.250");
    for (const to of [alice, ...astray, carol]) await putRule({ from: bob, to, ...TCP_443 });
    const meshAgent = await ReferenceAgent.start(bob, { mesh, pollSeconds: 1 });
    await eventually("carol's endpoint is set", {
      condition: async () =>
        await peerField(bob, { peer: carol, field: "endpoints" }) === "198.51.100.250:51820",
    });
    // Wait one more round, so that each name was looked up, in whatever order.
    const heartbeats = heartbeatsOf(meshAgent);
    await eventually("the agent has gone two rounds more", {
      condition: () => Promise.resolve(heartbeatsOf(meshAgent) > heartbeats + 1),
    });
    for (const peer of astray) {
      assert.equal(await peerField(bob, { peer, field: "endpoints" }), "(none)", peer.agent.id);
    }
  },
);

tunnelTest(
  "/peer/register: 409 pubkey_in_use → the agent makes a new key pair, and registers that",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    await bob.meshAgent.stop("SIGTERM");
    const key = `${bob.host.directory}/${bob.interfaceName}.key`;
    await Deno.copyFile(`${alice.host.directory}/${alice.interfaceName}.key`, key);
    bob.meshAgent.restart();
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    assert.match(await bob.meshAgent.readLog(), /a new key pair is made/);
    assert.equal((await Deno.stat(key)).mode! & 0o777, 0o600);
  },
);

tunnelTest(
  "FIREWALL=none on a host without nft → the tunnel is up, and taken down at the end",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    await bob.meshAgent.stop("SIGTERM");
    bob.meshAgent.restart({
      environment: { FIREWALL: "none", PATH: await linkProgramsBut("nft", bob.host.directory) },
    });
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    assert.equal(await bob.host.run(["nft", "list", "tables"]), "");
    assert.equal(await bob.meshAgent.stop("SIGTERM"), 0);
    assert.equal(await hasInterface(bob), false);
  },
);

for (
  const MESH_URL of [
    "http://198.51.100.9/functions/v1/agent-mesh",
    "http://127.0.0.1@example.com/f",
  ]
) {
  referenceTest(
    `MESH_URL=${MESH_URL} → the agent says so and ends, before it sends anything`,
    async () => {
      await using mesh = await Mesh.create();
      const { bob } = await joinWithAgents(mesh);
      await bob.meshAgent.stop("SIGTERM");
      const asked = bob.meshAgent.door.paths.length;
      const { code, log } = await bob.meshAgent.runSecond({ MESH_URL });
      assert.equal(code, 1);
      assert.equal(
        log,
        `MESH_URL must begin with https://, or with http:// and a loopback address; it is ${MESH_URL}\n`,
      );
      assert.equal(bob.meshAgent.door.paths.length, asked);
    },
  );
}

/** From now on, the service serves this configuration to the member, with a newer version. */
function serve({ meshAgent }: { meshAgent: ReferenceAgent }, config: string): void {
  meshAgent.door.replaceAnswers({
    "/wait": { config_version: NEWER_VERSION, heartbeat_interval_seconds: 1 },
    "/wg_config": { config_version: NEWER_VERSION, config },
  });
}

function heartbeatsOf({ door }: ReferenceAgent): number {
  return door.paths.filter((path) => path.endsWith("/wait")).length;
}

function exists(path: string): Promise<boolean> {
  return Deno.stat(path).then(() => true, () => false);
}

/** A connection that breaks between a sandbox and a kernel's host never looks like a clean end. */
import assert from "node:assert/strict";
import { HostAgent } from "../mesh_up/hosts/host_agent.ts";
import { eventually } from "../wireguard/hosts/run_program.ts";
import { Mesh } from "../wireguard/hosts/mesh_of_hosts.ts";
import { tunnelTest } from "../wireguard/hosts/requirements.ts";
import { KernelStream } from "./hosts/kernel_streams.ts";
import { allow, revokeAs, Sandbox } from "./hosts/sandbox.ts";
import type { Runtime } from "./hosts/programs.ts";

const PORT = 9000;
const ECONNRESET = 104;

async function pair(mesh: Mesh, runtime: Runtime = "deno") {
  const builder = await mesh.join("builder");
  const sandbox = await Sandbox.join(mesh, { name: "sandbox", runtime });
  return { builder, sandbox, upload: { from: sandbox, to: builder, port: PORT } };
}

/** Uploads from the sandbox to the host, and waits until bytes arrive. */
async function uploading({ builder, sandbox }: Awaited<ReturnType<typeof pair>>) {
  const server = await KernelStream.serve(builder.host, PORT);
  await eventually("the sandbox sends", {
    condition: async () => {
      const command = { do: "pour", host: builder.ipv4, port: PORT } as const;
      return (await sandbox.ask(command)).error === undefined;
    },
  });
  await server.says(/^accepted$/m);
  return server;
}

/** Uploads from the host to the sandbox, and waits until bytes arrive. */
async function receiving(
  { builder, sandbox }: Awaited<ReturnType<typeof pair>>,
  how: "reset" | "for ever",
) {
  await sandbox.tell({ do: "drain", port: PORT });
  const { ipv4: address } = sandbox;
  const client = await KernelStream.send(builder.host, { address, port: PORT, how });
  await eventually("bytes arrive", {
    condition: async () => (await sandbox.tell<{ bytes: number }>({ do: "drained" })).bytes > 0,
  });
  return client;
}

async function untilOutcome(sandbox: Sandbox, what: "poured" | "drained"): Promise<string> {
  let outcome: string | null = null;
  await eventually(`the sandbox knows how it ended`, {
    condition: async () => {
      ({ outcome } = await sandbox.tell<{ outcome: string | null }>({ do: what }));
      return outcome !== null;
    },
  });
  return outcome!;
}

for (const runtime of ["deno", "node"] as const) {
  tunnelTest(
    `an upload that the program of either side resets midway, the sandbox under ${runtime} → a reset at the other side`,
    async () => {
      await using mesh = await Mesh.create();
      const hosts = await pair(mesh, runtime);
      const { builder, sandbox } = hosts;
      await allow(hosts.upload);
      await allow({ from: builder, to: sandbox, port: PORT });
      await HostAgent.start(builder, { mesh });
      const server = await uploading(hosts);
      await sandbox.tell({ do: "stopPouring" });
      assert.match(await server.says(/^(broke|ended)/m), new RegExp(`^broke ${ECONNRESET} `, "m"));

      await receiving(hosts, "reset");
      assert.equal(await untilOutcome(sandbox, "drained"), "ECONNRESET");
    },
  );
}

for (const revoker of ["sandbox", "builder"] as const) {
  tunnelTest(
    `rules that the ${revoker} revokes in the middle of uploads in both directions → resets on both sides`,
    async () => {
      await using mesh = await Mesh.create();
      const hosts = await pair(mesh);
      const { builder, sandbox, upload } = hosts;
      const download = { from: builder, to: sandbox, port: PORT };
      for (const rule of [upload, download, { ...upload, port: 443 }]) await allow(rule);
      await HostAgent.start(builder, { mesh });
      const server = await uploading(hosts);
      const client = await receiving(hosts, "for ever");
      for (const rule of [upload, download]) await revokeAs(hosts[revoker].agent, rule);
      assert.equal(await untilOutcome(sandbox, "poured"), "ECONNRESET");
      assert.equal(await untilOutcome(sandbox, "drained"), "ECONNRESET");
      assert.match(await server.says(/^(broke|ended)/m), /^broke /m);
      assert.match(await client.says(/^broke/m), /^broke /m);
    },
  );
}

tunnelTest(
  "the only rule, which the host revokes in the middle of an upload to it → a reset on both sides, although the peer is gone",
  async () => {
    await using mesh = await Mesh.create();
    const hosts = await pair(mesh);
    const { builder, sandbox, upload } = hosts;
    await allow(upload);
    await HostAgent.start(builder, { mesh });
    const server = await uploading(hosts);
    await revokeAs(builder.agent, upload);
    assert.equal(await untilOutcome(sandbox, "poured"), "ECONNRESET");
    assert.match(await server.says(/^(broke|ended)/m), /^broke /m);
  },
);

tunnelTest(
  "the only rule, which the host revokes in the middle of its upload to the sandbox → a reset on both sides, although the peer is gone",
  async () => {
    await using mesh = await Mesh.create();
    const hosts = await pair(mesh);
    const { builder, sandbox } = hosts;
    const rule = { from: builder, to: sandbox, port: PORT };
    await allow(rule);
    await HostAgent.start(builder, { mesh });
    const client = await receiving(hosts, "for ever");
    await revokeAs(builder.agent, rule);
    assert.equal(await untilOutcome(sandbox, "drained"), "ECONNRESET");
    assert.match(await client.says(/^broke/m), /^broke /m);
  },
);

tunnelTest(
  "a rule that the host revokes while the sandbox is suspended in the middle of an upload → a reset at the host at once, and in the sandbox when it goes on",
  async () => {
    await using mesh = await Mesh.create();
    const hosts = await pair(mesh);
    const { builder, sandbox, upload } = hosts;
    await allow(upload);
    await allow({ ...upload, port: 443 });
    await HostAgent.start(builder, { mesh });
    const server = await uploading(hosts);
    sandbox.suspend();
    await revokeAs(builder.agent, upload);
    assert.match(await server.says(/^(broke|ended)/m), /^broke /m);
    sandbox.resume();
    assert.equal(await untilOutcome(sandbox, "poured"), "ECONNRESET");
  },
);

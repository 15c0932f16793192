import assert from "node:assert/strict";
import { assertError, createAgent, operatorRpc, post } from "../../conformance/client.ts";
import { run } from "../../wireguard/hosts/run_program.ts";
import type { Host } from "../../wireguard/hosts/host.ts";
import { Internet } from "../../wireguard/hosts/internet.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import { ServiceDoor } from "../../wireguard/hosts/service_door.ts";
import { agentSettings } from "../hosts/settings.ts";
import { commandLine } from "../hosts/command_line.ts";

const NOBODY = 65_534;

interface Start {
  readonly who: string;
  /** The command that runs the agent as this user. */
  readonly becoming: readonly string[];
  readonly owner: number;
  readonly lacksKernel?: true;
  readonly variables?: Readonly<Record<string, string>>;
  readonly says: RegExp;
}

const STARTS: readonly Start[] = [
  {
    who: "an ordinary user",
    becoming: ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"],
    owner: NOBODY,
    says:
      /^[^\n]+: root is needed to make the tunnel and its firewall; [^\n]+ agentfiles mesh join[^\n]+\n$/,
  },
  {
    who: "root without CAP_NET_ADMIN",
    becoming: ["setpriv", "--inh-caps=-net_admin", "--bounding-set=-net_admin"],
    owner: 0,
    says:
      /^[^\n]+: CAP_NET_ADMIN is needed to make the tunnel and its firewall; [^\n]+ agentfiles mesh join[^\n]+\n$/,
  },
  {
    who: "root without a TUN device, and without WireGuard in the kernel",
    becoming: ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /dev/net && exec "$@"', "sh"],
    owner: 0,
    lacksKernel: true,
    says:
      /^[^\n]+: no tunnel can be made here: the kernel has no WireGuard, and there is no TUN device \(\/dev\/net\/tun\); the sandbox peer, agentfiles mesh join, needs neither root nor a TUN device\n$/,
  },
  {
    who: "root without WireGuard in the kernel, and without the program that takes its place",
    becoming: [],
    owner: 0,
    lacksKernel: true,
    variables: { WG_QUICK_USERSPACE_IMPLEMENTATION: "wireguard-elsewhere" },
    says:
      /^[^\n]+: no tunnel can be made here: the kernel has no WireGuard, and wireguard-elsewhere is not installed\n$/,
  },
];

for (const { who, becoming, owner, lacksKernel, variables = {}, says } of STARTS) {
  tunnelTest(
    `mesh up as ${who} → it says so and ends; no registration, no heartbeat, no file`,
    async () => {
      await using internet = await Internet.create();
      const host = await internet.addHost("alice");
      await using door = await ServiceDoor.open(host);
      const agent = await createAgent("alice");
      const settings = await agentSettings({ host, agent, interfaceName: `${internet.id}-0` });
      // Give this user everything else that the agent needs.
      await Deno.chmod(host.directory, 0o755);
      await Deno.chown(settings.AGENT_KEY_FILE!, owner, owner);
      const configDir = `${host.directory}/wireguard`;
      await Deno.mkdir(configDir);
      await Deno.chown(configDir, owner, owner);

      const environment = { ...settings, ...variables, CONFIG_DIR: configDir, POLL_SECONDS: "1" };
      if (lacksKernel) Object.assign(environment, { PATH: await refuseKernelTunnels(host) });

      const { command, env } = commandLine(environment);
      const { code, errors } = await host.runAnyhow([
        "timeout",
        "30",
        ...becoming,
        "env",
        ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
        ...command,
      ]);

      assert.match(errors, says);
      assert.equal(code, 1);
      assert.deepEqual(door.paths, []);
      assert.deepEqual([...Deno.readDirSync(configDir)], []);
      assertError(await post("/agent-mesh/netmap", { as: agent }), 404, "peer_not_found");
      await operatorRpc("revoke_agent_keys", { agent_id: agent.id });
    },
  );
}

/** A PATH whose `ip` fails as on a kernel without WireGuard. */
async function refuseKernelTunnels(host: Host): Promise<string> {
  const folder = `${host.directory}/programs`;
  await Deno.mkdir(folder);
  const program = (await run(["sh", "-c", "command -v ip"])).trim();
  const refusal = "echo 'Error: Unknown device type.' >&2; exit 2";
  const script = `#!/bin/sh\ncase "$*" in *" type wireguard") ${refusal} ;; esac\n`;
  await Deno.writeTextFile(`${folder}/ip`, `${script}exec ${program} "$@"\n`, { mode: 0o755 });
  return `${folder}:${Deno.env.get("PATH")}`;
}

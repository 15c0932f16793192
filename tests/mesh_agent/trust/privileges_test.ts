import assert from "node:assert/strict";
import { assertError, createAgent, operatorRpc, post } from "../../conformance/client.ts";
import { run } from "../../wireguard/hosts/command.ts";
import { Internet } from "../../wireguard/hosts/internet.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import { ServiceDoor } from "../../wireguard/hosts/service_door.ts";
import { agentSettings, EXAMPLES } from "../agent_settings.ts";

const NOBODY = 65_534;

const STARTS = [
  {
    who: "an ordinary user",
    becoming: [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"],
    owner: NOBODY,
    says: /^[^\n]+: root is needed to make the tunnel and its firewall; [^\n]+\n$/,
  },
  {
    who: "root without CAP_NET_ADMIN",
    becoming: ["--inh-caps=-net_admin", "--bounding-set=-net_admin"],
    owner: 0,
    says: /^[^\n]+: CAP_NET_ADMIN is needed to make the tunnel and its firewall; [^\n]+\n$/,
  },
];

for (const { who, becoming, owner, says } of STARTS) {
  tunnelTest(
    `mesh-agent as ${who} → it says so and ends; no registration, no heartbeat, no file`,
    async () => {
      await using internet = await Internet.create();
      const host = await internet.addHost("alice");
      await using door = await ServiceDoor.open(host);
      const agent = await createAgent("alice");
      const settings = await agentSettings({ host, agent, interfaceName: `${internet.id}-0` });
      // All else that the agent needs is there for this user.
      await Deno.chmod(host.directory, 0o755);
      await Deno.chown(settings.AGENT_KEY_FILE!, owner, owner);
      const scripts = `${host.directory}/scripts`;
      await run(["cp", "-r", `${EXAMPLES}/mesh-agent`, scripts]);
      const configDir = `${host.directory}/wireguard`;
      await Deno.mkdir(configDir);
      await Deno.chown(configDir, owner, owner);

      const variables = Object.entries({ ...settings, CONFIG_DIR: configDir, POLL_SECONDS: "1" });
      const { code, errors } = await host.runAnyhow([
        ...["timeout", "10", "setpriv", ...becoming, "env"],
        ...variables.map(([name, value]) => `${name}=${value}`),
        `${scripts}/mesh-agent.sh`,
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

import assert from "node:assert/strict";
import { eventually, run } from "../wireguard/hosts/run_program.ts";
import { hasInterface, Mesh } from "../wireguard/hosts/mesh_of_hosts.ts";
import { tunnelTest } from "../wireguard/hosts/requirements.ts";
import { SERVICE_ORIGIN, ServiceDoor } from "../wireguard/hosts/service_door.ts";
import { EXAMPLES } from "./agent_settings.ts";

const FOLDER = `${EXAMPLES}/mesh-agent`;

/** Commands of the README that this test does not run, with the reason. */
const NOT_RUN = {
  "apt-get install ": "it would change this machine",
  "(set -a; . /etc/mesh-agent.env; ":
    "no agent runs yet; tests/mesh_agent/rotation_test.ts runs it",
  "./mesh-agent.sh check ": "it needs a file that was served; tests/docs/long runs it with one",
  "systemctl enable --now mesh-agent":
    "there is no systemd here; the unit's command is run instead",
  "journalctl -fu mesh-agent": "there is no journal here, and it never ends",
};

tunnelTest(
  "mesh-agent/README.md: its commands, then the unit's command → the tunnel comes up",
  async () => {
    await using mesh = await Mesh.create();
    const alice = await mesh.join("alice");
    await using _door = await ServiceDoor.open(alice.host);
    // Stands in for the host's root folder, where the commands write.
    const root = `${alice.host.directory}/root`;
    await run(["mkdir", "-p", `${root}/etc/systemd/system`]);

    const values: Record<string, string> = {
      "https://<project>.supabase.co": SERVICE_ORIGIN,
      "AGENT_ID=planner": `AGENT_ID=${alice.agent.id}`,
      "planner.example.com": alice.host.address!,
      "ak_…": alice.agent.key,
    };
    let script = onRoot((await commands()).join("\n"), root);
    for (const [written, value] of Object.entries(values)) {
      assert.ok(script.includes(written), `the README no longer says ${written}`);
      script = script.replaceAll(written, value);
    }
    await run(["bash", "-euc", `cd "$0"; ${script}`, FOLDER]);

    const unit = await Deno.readTextFile(`${root}/etc/systemd/system/mesh-agent.service`);
    const [environmentFile, command] = ["EnvironmentFile", "ExecStart"].map((key) =>
      onRoot(new RegExp(`^${key}=(.*)$`, "m").exec(unit)?.[1] ?? "", root)
    );
    const settings = (await Deno.readTextFile(environmentFile!)).trimEnd().split("\n");
    alice.host.start(["env", ...settings, command!], { logName: "agent.log" });
    await eventually("the tunnel is up", {
      condition: () => hasInterface({ ...alice, interfaceName: "mesh0" }),
    });
  },
);

/** All commands of the README's `sh` blocks, except those that are not run. */
async function commands(): Promise<string[]> {
  const text = await Deno.readTextFile(`${FOLDER}/README.md`);
  const lines = Array.from(text.matchAll(/```sh\n(.*?)```/gs), ([, block]) => block!.split("\n"))
    .flat();
  const isNotRun = (line: string) => Object.keys(NOT_RUN).some((start) => line.startsWith(start));
  assert.equal(lines.filter(isNotRun).length, Object.keys(NOT_RUN).length);
  return lines.filter((line) => !isNotRun(line));
}

/** Moves every path of the host below `root`. */
function onRoot(text: string, root: string): string {
  return text.replaceAll(/(?<![\w/])\/(?=etc\/|usr\/)/g, `${root}/`);
}

/** `agentfiles mesh up` on a member's host, as somebody types it. */
import { eventually } from "../../wireguard/hosts/run_program.ts";
import { SERVICE_ORIGIN } from "../../wireguard/hosts/service_door.ts";
import type { Member } from "../../wireguard/hosts/mesh_of_hosts.ts";
import { agentSettings, runDirectoryOf } from "./settings.ts";
import { commandLine, PROGRAM } from "./command_line.ts";

/** Runs `agentfiles` with these arguments on the host, logged in as the member's agent. */
export async function agentfiles(
  member: Pick<Member, "host" | "agent" | "interfaceName">,
  args: readonly string[],
): Promise<{ code: number; output: string; errors: string }> {
  const keyFile = `${member.host.directory}/agent-key`;
  const { env } = commandLine({
    MESH_URL: SERVICE_ORIGIN,
    AGENT_ID: member.agent.id,
    AGENT_KEY_FILE: keyFile,
  });
  const given = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return await member.host.runAnyhow(["env", ...given, ...PROGRAM, ...args]);
}

/** The options that every order to the member's agent needs. */
export function placeOf({ host, interfaceName }: Member): string[] {
  const names = ["--interface", interfaceName, "--hosts-file", `${host.directory}/hosts`];
  return [...names, "--run-dir", runDirectoryOf(host)];
}

/** Starts `mesh up` with further options. Its log is `mesh-up.log`. */
export async function startUp(
  member: Pick<Member, "host" | "agent" | "interfaceName">,
  { args = [], environment = {}, before = [], seeksPaths = false }: {
    args?: readonly string[];
    environment?: Record<string, string>;
    /** A command that runs the agent. */
    before?: readonly string[];
    seeksPaths?: boolean;
  } = {},
): Promise<Deno.ChildProcess> {
  const settings = { ...await agentSettings(member), CONFIG_DIR: member.host.directory };
  const given = { ...settings, POLL_SECONDS: "2", ...environment };
  const { command, env } = commandLine(given, { args, seeksPaths });
  return member.host.start([...before, ...command], { logName: "mesh-up.log", env: { ...env } });
}

export async function untilSaid(
  { host }: Pick<Member, "host">,
  text: string | RegExp,
): Promise<void> {
  await eventually(`the log of ${host.namespace} says ${text}`, {
    condition: async () => {
      const log = await host.readLog("mesh-up.log");
      return typeof text === "string" ? log.includes(text) : text.test(log);
    },
  }).catch(async (error) => {
    const log = await host.readLog("mesh-up.log");
    throw new Error(`${error.message} The log:\n${log}`, { cause: error });
  });
}

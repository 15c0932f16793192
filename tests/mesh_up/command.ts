/** `agentfiles mesh up` on a member's host, as somebody types it. */
import { eventually } from "../wireguard/hosts/run_program.ts";
import type { Member } from "../wireguard/hosts/mesh_of_hosts.ts";
import { agentSettings } from "../mesh_agent/agent_settings.ts";

Object.assign(globalThis, { meshAgent: "command" });
const { commandLine, PROGRAM } = await import("../mesh_agent/command_agent.ts");

/** Runs `agentfiles` with these arguments on the host, logged in as the member's agent. */
export async function agentfiles(
  member: Pick<Member, "host" | "agent" | "interfaceName">,
  args: readonly string[],
): Promise<{ code: number; output: string; errors: string }> {
  const { env } = commandLine(await agentSettings(member));
  const given = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return await member.host.runAnyhow(["env", ...given, ...PROGRAM, ...args]);
}

/** The options that every order to the member's agent needs. */
export async function placeOf(member: Member): Promise<string[]> {
  const { RUN_DIR = "", HOSTS_FILE = "" } = await agentSettings(member);
  const names = ["--interface", member.interfaceName, "--hosts-file", HOSTS_FILE];
  return [...names, "--run-dir", RUN_DIR];
}

/** Starts `mesh up` with further options. Its log is `mesh-up.log`. */
export async function startUp(
  member: Pick<Member, "host" | "agent" | "interfaceName">,
  { args = [], environment = {} }: {
    args?: readonly string[];
    environment?: Record<string, string>;
  } = {},
): Promise<Deno.ChildProcess> {
  const settings = { ...await agentSettings(member), CONFIG_DIR: member.host.directory };
  const { command, env } = commandLine({ ...settings, POLL_SECONDS: "2", ...environment }, args);
  return member.host.start(command, { logName: "mesh-up.log", env: { ...env } });
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

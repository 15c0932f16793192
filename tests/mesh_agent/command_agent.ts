/** `agentfiles mesh up`, which the tests of the reference agent also run with. */
import { bundleCommandLine } from "../../dev/clients/bundle.ts";
import { copySources } from "../../dev/clients/client_sources.ts";
import { tunnelTest } from "../wireguard/hosts/requirements.ts";

/**
 * Which agent the tests run. `tests/mesh_up/` sets it in its own files. With `MESH_AGENT=command`,
 * `agentfiles mesh up` as it is released, by Node; with `MESH_AGENT=command-deno`, by this Deno.
 */
const WHICH: string = (globalThis as { meshAgent?: string }).meshAgent ??
  Deno.env.get("MESH_AGENT") ?? "reference";

export const IS_COMMAND = WHICH.startsWith("command");

/** The command line, as it is installed. */
export const PROGRAM: readonly string[] = IS_COMMAND ? await bundled() : [];

/** Options by the settings of the reference agent. */
const OPTIONS: Readonly<Record<string, string>> = {
  INTERFACE: "--interface",
  CONFIG_DIR: "--config-dir",
  RUN_DIR: "--run-dir",
  HOSTS_FILE: "--hosts-file",
  ENDPOINT: "--endpoint",
  LISTEN_PORT: "--listen-port",
  FIREWALL: "--firewall",
  POLL_SECONDS: "--poll-seconds",
};

/**
 * A test of what only the reference agent has, such as its shell. CI runs it for that agent, in
 * tests/mesh_agent; for the command, in tests/mesh_up, it is shown as ignored.
 */
export function referenceTest(name: string, fn: () => Promise<void>): void {
  if (IS_COMMAND) Deno.test({ name, fn, ignore: true });
  else tunnelTest(name, fn);
}

export interface CommandLine {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** The command that does with these settings what the reference agent does. */
export function commandLine(
  settings: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): CommandLine {
  const { MESH_URL = "", AGENT_ID = "", AGENT_KEY_FILE = "", ...others } = settings;
  const given: Record<string, string> = { ENDPOINT: "", HOSTS_FILE: "", ...others };
  const options = Object.entries(OPTIONS).flatMap(([setting, option]) => {
    const value = given[setting];
    return value === undefined ? [] : [option, value === "" ? "none" : value];
  });
  const rest = Object.entries(others).filter(([setting]) => !(setting in OPTIONS));
  return {
    command: [
      ...PROGRAM,
      "mesh",
      "up",
      ...options,
      // Beside the reference agent, no path is sought either.
      ...(args.includes("--stun-server") ? [] : ["--no-paths"]),
      ...args.map((arg) => arg === "rotate" ? "--rotate-key" : arg),
    ],
    env: {
      ...Object.fromEntries(rest),
      AGENT_URL: MESH_URL.replace(/\/functions\/.*$/, ""),
      AGENT_ID,
      AGENT_KEY: Deno.readTextFileSync(AGENT_KEY_FILE).trim(),
      NO_COLOR: "1",
    },
  };
}

async function bundled(): Promise<string[]> {
  const folder = await Deno.makeTempDir({ prefix: "mesh-up-" });
  globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
  await using sources = await copySources();
  const program = `${folder}/agentfiles.mjs`;
  await bundleCommandLine(sources.path, program);
  await Deno.chmod(folder, 0o755);
  await Deno.chmod(program, 0o755);
  const options = ["run", "--allow-all", "--unstable-net", "--no-config"];
  return WHICH === "command" ? ["node", program] : [Deno.execPath(), ...options, program];
}

/** `agentfiles mesh up` as it is installed: one file, which Node runs. */
import { bundleCommandLine } from "../../../dev/clients/bundle.ts";
import { copySources } from "../../../dev/clients/client_sources.ts";

/** The command line. */
export const PROGRAM: readonly string[] = await bundled();

/** Options by the settings of a test's agent. */
const OPTIONS: Readonly<Record<string, string>> = {
  INTERFACE: "--interface",
  CONFIG_DIR: "--config-dir",
  RUN_DIR: "--run-dir",
  HOSTS_FILE: "--hosts-file",
  ENDPOINT: "--endpoint",
  LISTEN_PORT: "--listen-port",
  FIREWALL: "--firewall",
  POLL_SECONDS: "--poll-seconds",
  DNS: "--dns",
};

/** Leaves a setting to `mesh up`. */
export const USUAL = "usual";

export interface CommandLine {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** `mesh up` with these settings and arguments. */
export function commandLine(
  settings: Readonly<Record<string, string>>,
  { args = [], program = PROGRAM, seeksPaths = false }: {
    readonly args?: readonly string[];
    readonly program?: readonly string[];
    readonly seeksPaths?: boolean;
  } = {},
): CommandLine {
  const { MESH_URL = "", AGENT_ID = "", AGENT_KEY_FILE = "", ...others } = settings;
  const given: Record<string, string> = { ENDPOINT: "", HOSTS_FILE: "", ...others };
  const options = Object.entries(OPTIONS).flatMap(([setting, option]) => {
    const value = given[setting];
    return value === undefined || value === USUAL ? [] : [option, value === "" ? "none" : value];
  });
  const rest = Object.entries(others).filter(([setting]) => !(setting in OPTIONS));
  return {
    command: [...program, "mesh", "up", ...options, ...(seeksPaths ? [] : ["--no-paths"]), ...args],
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
  return ["node", program];
}

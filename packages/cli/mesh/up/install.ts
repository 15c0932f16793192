/** Has the host start `mesh up` when it boots. */
import { chmod, copyFile, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { writePrivateFile } from "../../../command/private_file.ts";
import type { Context } from "../../context.ts";
import { loginFile } from "../../login_file.ts";
import { run } from "./basics/programs.ts";
import type { Settings } from "./basics/settings.ts";
import { connectionOf } from "./login.ts";

/** Where the program and the login of the service are. */
const PROGRAM = "usr/local/lib/agentfiles/agentfiles.mjs";
const LOGIN_FOLDER = "etc";
const UNITS = "etc/systemd/system";

export interface Installed {
  /** The unit's file; null without systemd. */
  readonly unit: string | null;
  /** What to do now, or what to put into the configuration of another init. */
  readonly text: string;
}

/**
 * Writes the program, the login and a systemd unit, and starts it. Without systemd, returns a
 * script for OpenRC, and the command for any other init. `root`: stands in for the host's root
 * folder.
 */
export async function install(
  settings: Settings,
  { context, options, root = "/" }: {
    readonly context: Context;
    /** The options of `mesh up` that the unit repeats. */
    readonly options: readonly string[];
    readonly root?: string;
  },
): Promise<Installed> {
  await connectionOf(context, settings.runFolder);
  await installLogin(root);
  const command = await installProgram(root, options);
  const name = `agentfiles-mesh-${settings.interfaceName}`;
  const hasSystemd = await stat(join(root, "run/systemd/system")).then(() => true, () => false);
  if (!hasSystemd) return { unit: null, text: openRcScript(name, command) };
  const unit = join(root, UNITS, `${name}.service`);
  await mkdir(dirname(unit), { recursive: true });
  await writeFile(unit, unitText(command));
  if (root === "/") {
    await run("systemctl", ["daemon-reload"]);
    await run("systemctl", ["enable", "--now", `${name}.service`]);
  }
  return { unit, text: `${unit} is enabled. Its log: journalctl -fu ${name}` };
}

/** A service has no environment of a user. So its login is in a folder of its own. */
async function installLogin(root: string): Promise<void> {
  const { AGENT_URL, AGENT_KEY } = process.env;
  const text = AGENT_URL && AGENT_KEY
    ? JSON.stringify({ url: AGENT_URL, key: AGENT_KEY })
    : await readFile(loginFile(), "utf8");
  await writePrivateFile(join(root, LOGIN_FOLDER, "agentfiles", "login.json"), text);
}

/** The command of the service. The released program is copied: it may be in a home folder now. */
async function installProgram(root: string, options: readonly string[]): Promise<string[]> {
  const given = process.argv[1] ?? "";
  const isSource = given.endsWith(".ts");
  const program = isSource ? given : join("/", PROGRAM);
  if (!isSource) {
    const target = join(root, PROGRAM);
    await mkdir(dirname(target), { recursive: true, mode: 0o755 });
    if (given !== target) await copyFile(given, target);
    await chmod(target, 0o755);
  }
  const isDeno = "Deno" in globalThis;
  const deno = isDeno ? ["run", "--allow-all", "--unstable-net", "--no-config"] : [];
  return [process.execPath, ...deno, program, "mesh", "up", ...options];
}

export function unitText(command: readonly string[]): string {
  const isInHome = command.some((word) => /^\/(?:home|root)\//.test(word));
  return `[Unit]
Description=WireGuard tunnels to the agents that agreed
Wants=network-online.target
After=network-online.target

[Service]
Environment=XDG_CONFIG_HOME=/etc
ExecStart=${command.map(quoted).join(" ")}
# After \`agentfiles mesh down\`, it stays down.
Restart=on-failure
RestartSec=5
# SIGTERM goes only to the agent, which takes the tunnel down in order. Otherwise wireguard-go,
# which runs if the kernel has no WireGuard, would end first and leave the firewall behind.
KillMode=mixed
TimeoutStopSec=30
NoNewPrivileges=yes
PrivateTmp=yes
${isInHome ? "" : "ProtectHome=yes\n"}
[Install]
WantedBy=multi-user.target
`;
}

function openRcScript(name: string, [program = "", ...args]: readonly string[]): string {
  return `This host does not run systemd. For OpenRC, put this into /etc/init.d/${name}:

#!/sbin/openrc-run
description="WireGuard tunnels to the agents that agreed"
supervisor=supervise-daemon
export XDG_CONFIG_HOME=/etc
command=${shellQuoted(program)}
command_args=${shellQuoted(args.map(shellQuoted).join(" "))}
depend() {
  need net
}

For any other init, run this as root, and again when it fails:

XDG_CONFIG_HOME=/etc ${[program, ...args].map(shellQuoted).join(" ")}`;
}

/** As systemd reads a word. */
function quoted(word: string): string {
  const text = word.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%")
    .replaceAll("$", "$$$$");
  return /^[A-Za-z0-9_@%+=:,./$-]+$/.test(text) ? text : `"${text}"`;
}

function shellQuoted(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

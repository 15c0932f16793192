import process from "node:process";
import { UsageError } from "../../command/usage_error.ts";
import type { Context } from "../context.ts";
import { defineVerb, type Verb } from "../verb.ts";
import type { Settings } from "./up/basics/settings.ts";
import type { Status } from "./up/status.ts";

const INTERFACE = {
  type: "string",
  value: "NAME",
  help: "the name of the WireGuard interface; default: mesh0",
} as const;

const RUN_DIR = {
  type: "string",
  value: "DIR",
  help: "the folder of the state, in memory; default: /run/agentfiles-mesh",
  completes: "file",
} as const;

const HOSTS_FILE = {
  type: "string",
  value: "FILE",
  help: "where to write the names of the peers; default: /etc/hosts, unless systemd-resolved " +
    "answers for them; none: nowhere",
  completes: "file",
} as const;

export const up: Verb = defineVerb({
  summary: "Join this Linux host to the mesh, with a WireGuard interface, a firewall and names. " +
    "Needs root; mesh join does not.",
  example: "sudo agentfiles mesh up\n" +
    "sudo agentfiles mesh up --install   # also when the host boots\n" +
    "sudo agentfiles mesh up --status",
  options: {
    interface: INTERFACE,
    endpoint: {
      type: "string",
      value: "ENDPOINT",
      help: "where others reach this host: HOST:PORT, auto:PORT for the address from which it " +
        "sends, or none; default: auto:51820 if that address is public",
    },
    "listen-port": {
      type: "string",
      value: "PORT",
      help: "the UDP port of the tunnel; default: that of the endpoint",
    },
    firewall: {
      type: "string",
      value: "KIND",
      help: "nftables, the default, or none: this host enforces the rules by itself",
      completes: ["nftables", "none"],
    },
    "hosts-file": HOSTS_FILE,
    dns: {
      type: "string",
      value: "PLACE",
      help: "the port of this host that answers DNS queries for <name>.mesh.internal; default: " +
        "127.0.0.55:53, or another port of that address if it is taken; none: none",
    },
    "no-paths": {
      type: "boolean",
      help: "seek no path to peers behind NAT, neither by hole punching nor by a relay",
    },
    "stun-server": {
      type: "string",
      multiple: true,
      value: "URL",
      help: "where to ask for this host's outer address, besides the relay; can be repeated",
    },
    "poll-seconds": {
      type: "string",
      value: "SECONDS",
      help: "the longest time that a request waits for news; default: 140",
    },
    "config-dir": {
      type: "string",
      value: "DIR",
      help: "the folder of the private key; default: /etc/wireguard",
      completes: "file",
    },
    "run-dir": RUN_DIR,
    install: { type: "boolean", help: "start this when the host boots, and now" },
    status: { type: "boolean", help: "show what the running agent does" },
    "rotate-key": { type: "boolean", help: "replace the private key of this host" },
  },
  async run({ values }, context) {
    const { install, status, "rotate-key": rotates, ...rest } = values;
    if ([install, status, rotates].filter(Boolean).length > 1) {
      throw new UsageError("give only one of --install, --status and --rotate-key.");
    }
    const settings = await settingsOf(rest);
    if (status) return await showStatus(settings, context);
    if (rotates) {
      const { rotateKey } = await import("./up/run.ts");
      const public_key = await rotateKey(settings, context);
      return await context.output.value({ public_key }, () => `the public key is ${public_key}`);
    }
    if (install) {
      const [{ install }, { requireHost }] = await Promise.all([
        import("./up/install.ts"),
        import("./up/host/require.ts"),
      ]);
      await requireHost(settings);
      const installed = await install(settings, { context, options: optionsOf(rest) });
      return await context.output.value(installed, ({ text }) => text);
    }
    const { runAgent } = await import("./up/run.ts");
    await runAgent(settings, context);
    // Another signal while the runtime ends would kill it, and look like a failure.
    process.exit(0);
  },
});

export const down: Verb = defineVerb({
  summary: "Take the tunnel of mesh up down.",
  example: "sudo agentfiles mesh down",
  options: { interface: INTERFACE, "run-dir": RUN_DIR, "hosts-file": HOSTS_FILE },
  async run({ values }, context) {
    const settings = await settingsOf(values);
    const [{ sendOrder }, { takeDown }] = await Promise.all([
      import("./up/control.ts"),
      import("./up/take_down.ts"),
    ]);
    const wasRunning = await sendOrder(settings, "down") !== null;
    const wasUp = wasRunning || await takeDown(settings);
    await context.output.value(
      { interface: settings.interfaceName, was_up: wasUp },
      ({ was_up }) => `${settings.interfaceName} ${was_up ? "is down" : "was not up"}`,
    );
  },
});

async function showStatus(settings: Settings, context: Context): Promise<number | void> {
  const [{ sendOrder }, { statusText }] = await Promise.all([
    import("./up/control.ts"),
    import("./up/status.ts"),
  ]);
  const status = await sendOrder(settings, "status") as Status | null;
  if (status === null) throw new Error(`no agent runs for ${settings.interfaceName}`);
  await context.output.value(status, statusText);
}

type Values = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/** Throws UsageError. */
async function settingsOf(values: Values): Promise<Settings> {
  const {
    DEFAULT_FOLDERS,
    endpointSettingOf,
    firewallOf,
    interfaceNameOf,
    numberOf,
  } = await import("./up/basics/settings.ts");
  const { dnsPlaceOf } = await import("./dns/place.ts");
  const text = (name: string) => values[name] as string | undefined;
  const number = (name: string, most: number) => numberOf(text(name), { name: `--${name}`, most });
  const [hostsFile, dns] = [text("hosts-file"), text("dns")];
  const stunServers = (values["stun-server"] ?? []) as readonly string[];
  await requireStunServers(stunServers);
  return {
    interfaceName: interfaceNameOf(text("interface")),
    configFolder: text("config-dir") ?? DEFAULT_FOLDERS.config,
    runFolder: text("run-dir") ?? DEFAULT_FOLDERS.run,
    firewall: firewallOf(text("firewall")),
    endpoint: endpointSettingOf(text("endpoint")),
    listenPort: number("listen-port", 65_535),
    hostsFile: hostsFile === "none" ? null : hostsFile,
    dns: dns === undefined ? undefined : dns === "none" ? null : dnsPlaceOf(dns),
    pollSeconds: number("poll-seconds", 9999),
    seeksPaths: values["no-paths"] !== true,
    stunServers,
  };
}

/** Throws UsageError. */
async function requireStunServers(urls: readonly string[]): Promise<void> {
  if (urls.length === 0) return;
  const { parseServerUrl } = await import("../../agent-peer/paths/relays/ice_servers.ts");
  for (const url of urls) {
    const parsed = parseServerUrl(url);
    if (parsed === null || parsed.isTurn) {
      throw new UsageError(`${url} is not the URL of a STUN server, such as stun:host:3478.`);
    }
  }
}

/** The options as words of a command line. */
function optionsOf(values: Values): string[] {
  return Object.entries(values).flatMap(([name, value]) => {
    if (value === undefined || value === false) return [];
    if (value === true) return [`--${name}`];
    return (typeof value === "string" ? [value] : value).flatMap((each) => [`--${name}`, each]);
  });
}

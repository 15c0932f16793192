import process from "node:process";
import { join } from "node:path";
import { UsageError } from "../../command/usage_error.ts";
import { defineVerb, type Verb } from "../verb.ts";
import type { PathNews } from "../../agent-peer/forwarding/path_news.ts";

const INTERFACE_NAME = /^[A-Za-z0-9_=+.-]{1,15}$/;

export const path: Verb = defineVerb({
  summary: "Reach peers that have no direct path, from a host with the reference agent. " +
    "Punches holes into NAT, or uses the relay.",
  example: "agentfiles mesh path\n" +
    "agentfiles mesh path --interface mesh1 --stun-server stun:stun.example.com:3478",
  options: {
    interface: {
      type: "string",
      value: "NAME",
      help: "the agent's WireGuard interface; default: mesh0",
    },
    "config-dir": {
      type: "string",
      value: "DIR",
      help: "the folder of the agent's configuration; default: /etc/wireguard",
      completes: "file",
    },
    "stun-server": {
      type: "string",
      multiple: true,
      value: "URL",
      help: "where to ask for this host's outer address, besides the relay; can be repeated",
    },
  },
  async run({ values }, context) {
    const name = values.interface ?? "mesh0";
    if (!INTERFACE_NAME.test(name)) {
      throw new UsageError(`${name} is not the name of an interface.`);
    }
    const stunServers = values["stun-server"] ?? [];
    const folder = values["config-dir"] ?? "/etc/wireguard";
    // Loaded only here: few commands need the code that carries packets.
    const [ways, { parseServerUrl }, { Connection }] = await Promise.all([
      import("../../agent-peer/forwarding/index.ts"),
      import("../../agent-peer/paths/relays/ice_servers.ts"),
      import("../../agent-files/http/connection.ts"),
    ]);
    for (const url of stunServers) {
      const parsed = parseServerUrl(url);
      if (parsed === null || parsed.isTurn) {
        throw new UsageError(`${url} is not the URL of a STUN server, such as stun:host:3478.`);
      }
    }
    const kernel = ways.kernelInterface(name);
    // Fails at once if `wg` is missing or not permitted.
    await kernel.state();
    const stateFile = join(folder, `${name}.path`);
    using lock = await ways.lockPathState(stateFile);
    if (lock === null) throw new UsageError(`another \`mesh path\` already runs for ${name}.`);
    const connection = new Connection("agent-mesh", await context.connection());
    const keeper = new ways.PathKeeper({
      kernel,
      service: new ways.PathService(connection, context.signal),
      stateFile,
      configurationFile: join(folder, `${name}.conf`),
      stunServers,
      onNews: (news) => context.output.value(news, textOf),
      onTrouble: (message) => process.stderr.write(`${plain(message)}\n`),
    });
    await keeper.run(context.signal);
  },
});

function textOf({ peer, via, endpoint, reason }: PathNews): string {
  if (via === "none") return plain(`${peer}: no path; ${reason}`);
  if (via === "released") return plain(`${peer}: its port is closed`);
  return plain(`${peer}: ${via === "relay" ? "by a relay" : "directly"}, at ${endpoint}`);
}

/** Replaces control characters: text from the service must not control the terminal. */
function plain(text: string): string {
  // deno-lint-ignore no-control-regex -- Control characters are what it replaces.
  return text.replace(/[\x00-\x1f\x7f-\x9f]/g, "?");
}

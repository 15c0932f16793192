import * as z from "zod";
import { agentId } from "../../_shared/request/fields.ts";
import { defineTool } from "../../_shared/operations/mcp/definition.ts";
import { refusalOf } from "../../_shared/request/reading/invalid_request.ts";

interface Configuration {
  readonly agent_id: string;
  readonly config_version: number;
  readonly config: string;
}

const LIMIT_RULE = "Must be a whole number from 1 to 1000.";
const DEFAULT_LIMIT = 25;

const additions = z.object({
  show_psks: z.boolean().default(false).meta({
    description: "Also return the PSKs. Anyone who reads this conversation then has them.",
  }),
  with_agent: agentId.optional().meta({ description: "Only the section of this peer." }),
  limit: z.int(LIMIT_RULE).min(1, LIMIT_RULE).max(1000, LIMIT_RULE).default(DEFAULT_LIMIT),
});

/**
 * /wg_config, without the PSKs by default: most conversations do not need these secrets. And with a
 * limited number of peers: a conversation has no room for a large configuration.
 */
export const wgConfigTool = defineTool({
  name: "wg_config",
  answers: "agent_id",
  summary: "Get the agent's wg-quick configuration.",
  description:
    "The host's own agent applies it. With more peers than `limit`, the others and the " +
    "firewall are left out. Creates missing PSKs.",
  hidden: ["format"],
  additions,
  async call({ run }, { given, added: { show_psks, with_agent, limit } }) {
    if ("format" in given && given.format !== "wg-quick") {
      throw refusalOf([{ path: "format", message: "The tool has wg-quick's only." }]);
    }
    const { config, ...answer } = await run<Configuration>("/wg_config", given);
    const part = with_agent === undefined ? firstPeers(config, limit) : peerIn(config, with_agent);
    const shown = show_psks || part.config === null ? part.config : withoutPsks(part.config);
    return { body: { ...answer, ...part, config: shown } };
  },
});

const PEER = "\n[Peer]\n";

/** The whole configuration if it has few peers. */
function firstPeers(config: string, limit: number) {
  const [head = "", ...peers] = config.split(PEER);
  if (peers.length <= limit) return { config };
  return {
    config: [head, ...peers.slice(0, limit)].join(PEER),
    peers_left_out: peers.length - limit,
  };
}

/** The section of a peer, which begins with the agent's name; null: it has none. */
function peerIn(config: string, agent: string) {
  const section = config.split(PEER).slice(1).find((peer) => peer.startsWith(`# ${agent}\n`));
  const [peer] = section?.split("\n#nft ") ?? [];
  return { config: peer === undefined ? null : `[Peer]\n${peer.trimEnd()}\n` };
}

function withoutPsks(config: string): string {
  return config.replaceAll(/^(PresharedKey = ).+$/gm, "$1(hidden)");
}

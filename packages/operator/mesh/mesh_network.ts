import { CommandError } from "../../command/command_error.ts";
import { UsageError } from "../../command/usage_error.ts";
import { defineOperation, type Operation } from "../command.ts";
import { callAsOperator, RefusedCall } from "../operator_call.ts";

/** What read_mesh_network and set_mesh_network return. */
interface MeshNetwork {
  readonly ipv4_network: string;
  readonly ipv6_network: string;
  readonly has_peers: boolean;
  /** How many IPv4 addresses agents have, or had before their peers were removed. */
  readonly leased: number;
  /** How many IPv4 addresses agents can have. */
  readonly size: number;
}

/** PostgreSQL's object_not_in_prerequisite_state, by which mesh.settings refuses a change. */
const HAS_PEERS = "55000";

function inWords({ ipv4_network, ipv6_network, has_peers, leased, size }: MeshNetwork): string {
  const change = has_peers
    ? "The IPv4 network cannot change while there are peers."
    : "There is no peer: agentops mesh network CIDR sets another IPv4 network.";
  return `IPv4: ${ipv4_network}, ${leased} of ${size} addresses used\nIPv6: ${ipv6_network}\n${change}`;
}

async function setNetwork(ipv4_network: string | null): Promise<MeshNetwork> {
  try {
    return await callAsOperator("set_mesh_network", { ipv4_network }) as MeshNetwork;
  } catch (error) {
    if (!(error instanceof RefusedCall) || error.sqlState !== HAS_PEERS) throw error;
    throw new CommandError(
      "The network of the mesh cannot change while there are peers, which agentops mesh lists. " +
        "Nothing was changed.",
      { cause: error },
    );
  }
}

export const meshNetwork: Operation = defineOperation({
  summary: "Show the networks of the mesh, or set the IPv4 network while there is no peer.",
  example: "agentops mesh network\nagentops mesh network 10.64.0.0/16",
  positionals: { usage: "[CIDR]", least: 0, most: 1, wrong: "Name one network: 10.64.0.0/16." },
  options: {
    random: {
      type: "boolean",
      help: "draw another network of the range that a deployment draws from",
    },
  },
  async run({ positionals: [network], values: { random } }, output) {
    if (random && network !== undefined) {
      throw new UsageError("Give a network or --random, not both.");
    }
    const networks = random || network !== undefined
      ? await setNetwork(network ?? null)
      : await callAsOperator("read_mesh_network", {}) as MeshNetwork;
    await output.value({ ...networks }, inWords);
  },
});

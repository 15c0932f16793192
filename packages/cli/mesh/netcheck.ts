import { plain } from "../../command/terminal/output.ts";
import { UsageError } from "../../command/usage_error.ts";
import { EXIT } from "../exit_codes.ts";
import { defineVerb, type Verb } from "../verb.ts";
import type { NetcheckFacts } from "./probe/network_diagnosis.ts";

export const netcheck: Verb = defineVerb({
  summary: "Say whether the network of this host lets the mesh through, and what to do if not: " +
    "NAT, UDP, relay, proxy, clock. Exits with 1 if it does not.",
  example: "agentfiles mesh netcheck\n" +
    "agentfiles mesh netcheck --stun-server stun:stun.example.com:3478",
  options: {
    "stun-server": {
      type: "string",
      multiple: true,
      value: "URL",
      help: "also ask this STUN server, such as stun:stun.example.com:3478; can be repeated",
    },
  },
  async run({ values }, context) {
    // Loaded only here: few commands need it.
    const [{ checkNetwork }, { diagnoseNetwork, wayOf }, { parseServerUrl }, { askService }] =
      await Promise.all([
        import("../../agent-peer/paths/netcheck/check_network.ts"),
        import("./probe/network_diagnosis.ts"),
        import("../../agent-peer/paths/relays/ice_servers.ts"),
        import("./probe/service.ts"),
      ]);
    const stunServers = values["stun-server"] ?? [];
    for (const url of stunServers) {
      if (parseServerUrl(url)?.transport !== "udp") {
        throw new UsageError(`${url} is not a STUN server, such as stun:stun.example.com:3478.`);
      }
    }
    const { iceServers, ...service } = await askService(context);
    const facts = { ...service, ...await checkNetwork({ iceServers, stunServers }) };
    const diagnosis = diagnoseNetwork(facts);
    await context.output.value(
      { ...diagnosis, facts },
      () => [diagnosis.sentence, ...linesOf(facts, wayOf)].map((line) => plain(line)).join("\n"),
    );
    return diagnosis.works ? 0 : EXIT.failed;
  },
});

const NAT = {
  none: "none",
  easy: "lets answers of any port in",
  port_restricted: "lets answers of the same port in",
  symmetric: "symmetric: another port for each peer",
} as const;

function linesOf(
  { clockSeconds, serviceError, udpWorks, seenAt, nat, relayIsSet, relays }: NetcheckFacts,
  wayOf: (relay: NetcheckFacts["relays"][number]) => string,
): string[] {
  const udp = udpWorks === null ? "not tested" : udpWorks ? `works, seen at ${seenAt}` : "blocked";
  const relay = relayIsSet === null ? "not known" : relayIsSet ? "set" : "none is set";
  return [
    `service  ${serviceError ?? "reached"}`,
    `clock    ${clockSeconds === null ? "unknown" : `${clockSeconds} s ahead`}`,
    `UDP      ${udp}`,
    `NAT      ${nat === null ? "unknown" : NAT[nat]}`,
    `relay    ${relay}`,
    ...relays.flatMap((trial) => [
      `  ${wayOf(trial)}: ${trial.works ? "works" : trial.reason}`,
      `    ${trial.server}`,
    ]),
  ].map((line) => `  ${line}`);
}

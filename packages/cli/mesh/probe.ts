import { plain } from "../../command/terminal/output.ts";
import { UsageError } from "../../command/usage_error.ts";
import { EXIT } from "../exit_codes.ts";
import { defineVerb, type Verb } from "../verb.ts";
import type { ProbeFacts } from "./probe/facts.ts";
import type { Target } from "./probe/gather.ts";

const WRONG = "Name the peer and a port: builder 8080, or builder 53/udp.";

export const probe: Verb = defineVerb({
  summary: "Say why a port of a peer is not reached, and whose turn it is. Exits with 1 if it is " +
    "not. As root on a host with mesh up, it also looks at the tunnel and connects; in a sandbox, " +
    "with --proxy, through mesh join.",
  positionals: { usage: "PEER PORT[/tcp|/udp]", least: 2, most: 2, wrong: WRONG },
  example: "sudo agentfiles mesh probe builder 8080",
  options: {
    interface: {
      type: "string",
      value: "NAME",
      help: "the name of the WireGuard interface; default: mesh0",
    },
    proxy: {
      type: "string",
      value: "URL",
      help: "connect through the HTTP proxy of mesh join, by the URL that it prints",
    },
  },
  async run({ positionals, values }, context) {
    const target = targetOf(positionals);
    // Loaded only here: few commands need it.
    const [{ gather }, { diagnose }, { parseProxy }, service, { interfaceNameOf }] = await Promise
      .all([
        import("./probe/gather.ts"),
        import("./probe/diagnose.ts"),
        import("./probe/by_proxy.ts"),
        import("./probe/service.ts"),
        import("./up/basics/settings.ts"),
      ]);
    const ways = {
      interfaceName: interfaceNameOf(values.interface),
      proxy: values.proxy === undefined ? null : parseProxy(values.proxy),
    };
    const { mesh, ownId, url, fetch } = await service.connectionFor(context);
    const clockSeconds = await service.clockSecondsAhead(url, fetch);
    const facts = await gather(mesh, { target, ways, ownId, clockSeconds });
    const diagnosis = diagnose(facts);
    await context.output.value(
      { ...diagnosis, facts },
      () => [plain(diagnosis.sentence), ...linesOf(facts).map((line) => `  ${line}`)].join("\n"),
    );
    return diagnosis.cause === "none" ? 0 : EXIT.failed;
  },
});

function targetOf([peer = "", place = ""]: readonly string[]): Target {
  const [, port, proto = "tcp"] = /^([1-9][0-9]{0,4})(?:\/(tcp|udp))?$/.exec(place) ?? [];
  if (peer === "" || port === undefined || Number(port) > 65_535) throw new UsageError(WRONG);
  return { peer, port: Number(port), proto: proto as Target["proto"] };
}

function linesOf({ rule, clockSeconds, tunnel, proxy, isOnline }: ProbeFacts): string[] {
  const ruleText = rule === "active"
    ? "active"
    : rule === null
    ? "none"
    : `waits for ${plain(rule.waitingFor)}`;
  const age = tunnel?.handshakeAgeSeconds ?? null;
  return [
    `rule              ${ruleText}`,
    `peer              ${word(isOnline, "online", "offline")}`,
    `clock             ${clockSeconds === null ? "unknown" : `${clockSeconds} s ahead`}`,
    ...(proxy === null ? [] : [`proxy             ${proxy.replaceAll("_", " ")}`]),
    ...(tunnel === null ? [] : [
      `key, PSK          ${word(tunnel.hasRegisteredKey, "right", "another key")}, ${
        word(tunnel.hasSamePsk, "right", "another PSK")
      }`,
      `handshake         ${age === null ? "none" : `${age} s ago`}`,
      `ping              ${word(tunnel.smallPing, "answered", "no answer")}`,
      `ping, 1,280 bytes ${word(tunnel.largePing, "answered", "no answer")}`,
      `connect           ${tunnel.connect ?? "not tried"}`,
    ]),
  ];
}

function word(fact: boolean | null, yes: string, no: string): string {
  return fact === null ? "unknown" : fact ? yes : no;
}

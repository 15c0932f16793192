/** What is wrong between two agents, and whose turn it is: the first fault on the way. */
import { problemOf } from "../../../agent-peer/paths/describe_path.ts";
import type { ProbeFacts, ProxyAnswer, TunnelFacts, Turn } from "./facts.ts";

export type Cause =
  | "none"
  | "clock"
  | "not_registered"
  | "no_rule"
  | "wrong_port"
  | "consent_missing"
  | "other_key"
  | "peer_not_configured"
  | "other_psk"
  | "network_taken"
  | "peer_offline"
  | "peer_differs"
  | "no_path"
  | "large_packets_lost"
  | "tcp_dropped"
  | "nothing_listens"
  | "not_tested";

export interface Diagnosis {
  readonly cause: Cause;
  readonly turn: Turn;
  /** A sentence, or two: what is wrong, and what to do. */
  readonly sentence: string;
}

/** WireGuard needs no right time, but TLS and keys that expire do. */
const MOST_CLOCK_SECONDS = 300;

export function diagnose(facts: ProbeFacts): Diagnosis {
  return clockFault(facts) ?? ruleFault(facts) ?? problemFault(facts) ??
    (facts.proxy !== null
      ? proxyFault(facts, facts.proxy)
      : facts.tunnel === null
      ? byReports(facts)
      : tunnelFault(facts, facts.tunnel) ?? packetFault(facts, facts.tunnel)) ??
    say("none", "nobody", `${facts.peer} is reached at ${placeOf(facts)}.`);
}

function clockFault({ clockSeconds }: ProbeFacts): Diagnosis | null {
  const sentence = clockSentence(clockSeconds);
  return sentence === null ? null : say("clock", "own", sentence);
}

/** What is wrong with the clock of this host; null if nothing is, or if that is not known. */
export function clockSentence(secondsAhead: number | null): string | null {
  if (secondsAhead === null || Math.abs(secondsAhead) <= MOST_CLOCK_SECONDS) return null;
  const way = secondsAhead > 0 ? "ahead of" : "behind";
  return `This host's clock is ${durationOf(Math.abs(secondsAhead))} ${way} the service's. Set it.`;
}

function ruleFault(facts: ProbeFacts): Diagnosis | null {
  const { own, peer, rule, isRegistered, otherPorts } = facts;
  if (!isRegistered) {
    return say(
      "not_registered",
      "own",
      `${own} is not in the mesh. Run agentfiles mesh up, or agentfiles mesh join in a sandbox.`,
    );
  }
  if (rule === "active") return null;
  const command = `agentfiles mesh allow ${own} ${peer} ${placeOf(facts)}`;
  if (rule !== null) {
    const { waitingFor } = rule;
    return waitingFor === own
      ? say("consent_missing", "own", `${own} has not agreed to the rule. Run ${command}`)
      : say(
        "consent_missing",
        "peer",
        `${waitingFor} has not agreed to the rule. It must run ${command}`,
      );
  }
  if (otherPorts.length > 0) {
    return say(
      "wrong_port",
      "own",
      `No rule lets ${own} reach ${placeOf(facts)} of ${peer}, only ${otherPorts.join(", ")}. ` +
        `Use that port, or run ${command} on both sides.`,
    );
  }
  return say(
    "no_rule",
    "own",
    `No rule lets ${own} reach ${placeOf(facts)} of ${peer}. Run ${command} on both sides.`,
  );
}

function problemFault({ own, peer, problems }: ProbeFacts): Diagnosis | null {
  const [stuck, turn] = problems.own === null
    ? [{ agent_id: peer, problem: problems.peer }, "peer" as const]
    : [{ agent_id: own, problem: problems.own }, "own" as const];
  if (stuck.problem === null) return null;
  const [first = "", ...rest] = problemOf(stuck);
  return say(
    "network_taken",
    turn,
    `${first.toUpperCase()}${rest.join("")}. mesh up --status there names it. Give that network ` +
      `other addresses, or have the operator move the mesh.`,
  );
}

/** By what the proxy of `mesh join` answered. */
function proxyFault(facts: ProbeFacts, answer: ProxyAnswer): Diagnosis | null {
  const { peer, isOnline, pathReason, reports } = facts;
  switch (answer) {
    case "open":
      return null;
    case "refused":
      return nothingListens(facts);
    case "denied":
    case "unknown_peer":
      return say(
        "peer_not_configured",
        "own",
        `mesh join does not know ${peer}, or the rule, yet: it runs an old configuration. See what ` +
          `it prints on stderr.`,
      );
    case "no_proxy":
      return say("not_tested", "own", "No proxy answers at that URL. Is mesh join running?");
    case "token_refused":
      return say(
        "not_tested",
        "own",
        "The proxy refuses the token of the URL: each start of mesh join makes a new one.",
      );
    case "failed":
      return say("not_tested", "own", "The connection failed before the peer answered. Try again.");
    case "timeout":
      if (reports.own === true || reports.peer === true) {
        return say(
          "tcp_dropped",
          "peer",
          `The tunnel to ${peer} works, but its host drops connections to ${placeOf(facts)}: a ` +
            `firewall of its own.`,
        );
      }
      return isOnline === false ? offline(peer) : noPath(facts, pathReason);
  }
}

/** Without a tunnel that this process can look at, only the reports of both hosts are known. */
function byReports(facts: ProbeFacts): Diagnosis {
  const { peer, isOnline, pathReason, reports, own } = facts;
  if (reports.own === true || reports.peer === true) {
    return say(
      "not_tested",
      "own",
      `The rule is active and the tunnel works, but this process cannot test the port. ` +
        `As root on a host with mesh up, or with --proxy in a sandbox, mesh probe also connects.`,
    );
  }
  if (isOnline === false) return offline(peer);
  if (reports.own === null && reports.peer === null) {
    return say(
      "not_tested",
      "own",
      `The rule is active, but no host has reported its tunnel. Is mesh up, or mesh join, ` +
        `running for ${own}? To look at the tunnel of mesh up, run mesh probe as root; to connect ` +
        `through mesh join, give --proxy.`,
    );
  }
  return noPath(facts, pathReason);
}

function tunnelFault({ peer }: ProbeFacts, tunnel: TunnelFacts): Diagnosis | null {
  const { interfaceName } = tunnel;
  if (!tunnel.hasRegisteredKey) {
    return say(
      "other_key",
      "own",
      `${interfaceName} runs another key than the registered one. Start mesh up again.`,
    );
  }
  if (!tunnel.hasPeer) {
    return say(
      "peer_not_configured",
      "own",
      `${interfaceName} does not know ${peer}, or knows an old key of it: this host runs an old ` +
        `configuration. Is mesh up running?`,
    );
  }
  if (!tunnel.hasSamePsk) {
    return say(
      "other_psk",
      "own",
      `${interfaceName} has another PSK for ${peer} than the service. Is mesh up running?`,
    );
  }
  return null;
}

function packetFault(facts: ProbeFacts, tunnel: TunnelFacts): Diagnosis | null {
  const { peer, proto, isOnline, pathReason } = facts;
  const isConnected = tunnel.connect === "open" || tunnel.connect === "refused";
  const isSilent = tunnel.smallPing === false ||
    (tunnel.smallPing === null && tunnel.connect === "timeout");
  if (isSilent && !isConnected) {
    if (tunnel.received === "initiations") {
      return say(
        "peer_differs",
        "peer",
        `${peer} begins handshakes that do not complete: its host has another PSK, or does not ` +
          `get the answers by UDP. Run mesh probe there.`,
      );
    }
    if (tunnel.received === "packets") {
      return say(
        "tcp_dropped",
        "peer",
        `The tunnel to ${peer} works, but its host drops pings and what goes to ${
          placeOf(facts)
        }: a firewall of its own.`,
      );
    }
    return isOnline === false ? offline(peer) : noPath(facts, pathReason);
  }
  if (tunnel.smallPing === true && tunnel.largePing === false) {
    return say(
      "large_packets_lost",
      "operator",
      `Small packets reach ${peer}, packets of 1,280 bytes do not: a router on the path drops ` +
        `them. It must carry UDP datagrams of 1,360 bytes.`,
    );
  }
  if (proto === "udp") {
    return say(
      "not_tested",
      "nobody",
      `The rule is active. Whether a program of ${peer} answers UDP cannot be tested.`,
    );
  }
  if (tunnel.connect === "refused") return nothingListens(facts);
  if (tunnel.connect !== "timeout") return null;
  return say(
    "tcp_dropped",
    "peer",
    `${peer} answers pings, but drops connections to ${placeOf(facts)}: a firewall of its own.`,
  );
}

function nothingListens(facts: ProbeFacts): Diagnosis {
  return say(
    "nothing_listens",
    "peer",
    `${facts.peer} answers, but nothing listens on ${placeOf(facts)} at its tunnel addresses.`,
  );
}

function noPath({ peer }: ProbeFacts, reason: string | null): Diagnosis {
  if (reason?.startsWith("both are behind NAT")) {
    return say(
      "no_path",
      "operator",
      `No packet reaches ${peer}: ${reason}. Set a relay, or give one of them a public endpoint.`,
    );
  }
  return say(
    "no_path",
    "peer",
    `No packet reaches ${peer}: ${reason ?? "no answer by UDP"}. A firewall drops UDP, or its ` +
      `host runs another key. Run mesh probe there.`,
  );
}

function offline(peer: string): Diagnosis {
  return say(
    "peer_offline",
    "peer",
    `${peer} is offline: its host sends no heartbeats. Start mesh up, or mesh join, there.`,
  );
}

function say(cause: Cause, turn: Turn, sentence: string): Diagnosis {
  return { cause, turn, sentence };
}

function placeOf({ port, proto }: ProbeFacts): string {
  return `${port}/${proto}`;
}

function durationOf(seconds: number): string {
  if (seconds >= 2 * 86_400) return `${Math.round(seconds / 86_400)} days`;
  return seconds >= 7200
    ? `${Math.round(seconds / 3600)} hours`
    : `${Math.round(seconds / 60)} minutes`;
}

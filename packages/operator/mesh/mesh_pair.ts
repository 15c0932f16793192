import { describePath, type PathSide, problemOf } from "../../agent-peer/paths/describe_path.ts";

/** One of the two agents, with when its host last sent a heartbeat; null: never. */
export interface PairSide extends PathSide {
  readonly last_seen: string | null;
}

/** What read_mesh_pair returns. */
export interface MeshPair {
  /** Null: the agent has no peer. */
  readonly from: PairSide | null;
  readonly to: PairSide | null;
  readonly rule: {
    readonly active: boolean;
    /** The agent that has not agreed yet. */
    readonly waiting_for: string | null;
    readonly origin: string;
  } | null;
  /** Such as "443/tcp": other ports that the one agent may reach. */
  readonly other_ports: readonly string[];
}

/** What was asked: whether one agent reaches a port of another. */
export interface MeshQuestion {
  readonly from: string;
  readonly to: string;
  /** Such as "8080/tcp". */
  readonly target: string;
}

export interface MeshAnswer {
  /**
   * What prevents the connection. `nothing`: as far as the service knows, it works. `unknown`: rule
   * and hosts are in order, and no host reports its paths.
   */
  readonly cause:
    | "no_peer"
    | "no_rule"
    | "rule_waits"
    | "never_seen"
    | "offline"
    | "network_taken"
    | "old_configuration"
    | "no_path"
    | "path_disputed"
    | "unknown"
    | "nothing";
  /** One sentence. */
  readonly sentence: string;
  /** What to do next, and where. */
  readonly next: string;
}

/**
 * Says why one agent does not reach a port of another, as far as the service knows. The first cause
 * in the way of a connection is told: a rule, then the hosts, then the path between them. The
 * service knows neither what listens on the host nor its own firewall. `relayIsSet`: as in
 * `describePath`.
 */
export function whyNot(
  { from, to, target }: MeshQuestion,
  pair: MeshPair,
  relayIsSet: boolean | null,
): MeshAnswer {
  const words = `${from} ${to} ${target.replace(/\/tcp$/, "")}`;
  const allow = `agentfiles mesh allow ${words}`;
  const probe = `On ${from}: agentfiles mesh probe ${to} ${target.replace(/\/tcp$/, "")}`;
  const absent = pair.to === null ? to : pair.from === null ? from : null;
  if (absent !== null) {
    return {
      cause: "no_peer",
      sentence: `${absent} has no peer in the mesh.`,
      next: `On ${absent}: sudo agentfiles mesh up, or agentfiles mesh join`,
    };
  }
  if (pair.rule === null) {
    const others = pair.other_ports.length === 0
      ? ""
      : ` It may reach ${pair.other_ports.join(", ")}.`;
    return {
      cause: "no_rule",
      sentence: `No rule lets ${from} reach ${target} of ${to}.${others}`,
      next: `On ${from} and on ${to}: ${allow}`,
    };
  }
  if (!pair.rule.active) {
    const waiting = pair.rule.waiting_for ?? to;
    return {
      cause: "rule_waits",
      sentence: `The rule is not active: ${waiting} has not agreed to it.`,
      next: `On ${waiting}: ${allow}`,
    };
  }
  const sides = [pair.from!, pair.to!] as const;
  return ofHosts(sides) ?? ofPath(sides, { relayIsSet, probe });
}

/** What the hosts themselves lack. Null: nothing. */
function ofHosts(sides: readonly [PairSide, PairSide]): MeshAnswer | null {
  const away = sides.find(({ online }) => !online);
  if (away !== undefined) {
    const { agent_id, last_seen } = away;
    return {
      cause: last_seen === null ? "never_seen" : "offline",
      sentence: last_seen === null
        ? `${agent_id} has a peer, but its host was never seen.`
        : `${agent_id} is offline: its host was last seen ${inWords(last_seen)}.`,
      next: `On ${agent_id}: start agentfiles mesh up or mesh join, or see its log`,
    };
  }
  const stuck = sides.find(({ problem }) => problem);
  if (stuck !== undefined) {
    return {
      cause: "network_taken",
      sentence: `${capitalized(problemOf(stuck))}.`,
      next:
        `On ${stuck.agent_id}: give that network other addresses (mesh up --status names it), ` +
        "or put the mesh elsewhere: agentops mesh network",
    };
  }
  const late = sides.find(({ lags }) => lags === true);
  return late === undefined ? null : {
    cause: "old_configuration",
    sentence: `${late.agent_id} runs an old configuration.`,
    next: `On ${late.agent_id}: see the log of agentfiles mesh up or mesh join`,
  };
}

function ofPath(
  sides: readonly [PairSide, PairSide],
  { relayIsSet, probe }: { readonly relayIsSet: boolean | null; readonly probe: string },
): MeshAnswer {
  const { state, sentence } = describePath(sides, relayIsSet);
  switch (state) {
    case "works":
      return {
        cause: "nothing",
        sentence: `Nothing in the mesh prevents it: the path ${sentence}.`,
        next: `${probe} (whether anything listens, and the host's own firewall)`,
      };
    case "unknown":
      return {
        cause: "unknown",
        sentence: "The rule is active, and both hosts are online. Neither reports its paths.",
        next: probe,
      };
    default:
      return {
        cause: state === "disputed" ? "path_disputed" : "no_path",
        sentence: `The path ${state === "disputed" ? "is " : ""}${sentence}.`,
        next: `${probe} (docs/relay.md if UDP is blocked, or both are behind NAT)`,
      };
  }
}

function capitalized(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** `2026-01-31 09:30 UTC`. */
function inWords(timestamp: string): string {
  return `${timestamp.slice(0, 16).replace("T", " ")} UTC`;
}

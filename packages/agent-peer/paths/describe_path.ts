/**
 * Describes in a sentence whether two agents reach each other, for the command line, the operator's
 * commands and the dashboard. It knows what both hosts report, but not the network between them. So
 * a reason is only the likeliest one.
 */
import { kindOf, parseEndpoint } from "./places/address_kinds.ts";

/** What a host reports of its path to another one, as in /netmap. */
export interface PathReport {
  readonly works: boolean;
  readonly via: "direct" | "relay" | "none";
  readonly since: string;
  readonly handshake_age_seconds: number | null;
  readonly endpoint: string | null;
  readonly reported_at: string;
}

/** Why a host has no tunnel, as in /netmap. */
export interface HostProblem {
  /** `network_taken`: another network of the host has addresses of the mesh. */
  readonly code: "network_taken";
  /** That network; null: not told. */
  readonly network: string | null;
}

/** One of the two agents. */
export interface PathSide {
  readonly agent_id: string;
  readonly online: boolean;
  /** Whether its host runs an older configuration than the current one; null: unknown. */
  readonly lags: boolean | null;
  /** The endpoints that it has registered; may be empty. */
  readonly endpoints: readonly string[];
  /** Missing: a deployment of an earlier version. */
  readonly problem?: HostProblem | null;
  /** What its host reports of the path to the other one; null: nothing, or not recently. */
  readonly report: PathReport | null;
}

type ReasonSide = Pick<PathSide, "agent_id" | "endpoints"> & Partial<Pick<PathSide, "lags">>;

export interface PathDescription {
  /** `disputed`: one host reports a path, the other none. `unknown`: neither reports anything. */
  readonly state: "works" | "broken" | "offline" | "disputed" | "unknown";
  /** How the packets travel; null if they do not, as far as is known. */
  readonly via: "direct" | "relay" | null;
  /** Since when this is so; null: unknown. */
  readonly since: string | null;
  /** Without a full stop, such as `works directly since 2026-01-31 09:30 UTC`. */
  readonly sentence: string;
}

/** `relayIsSet`: whether agents are given a relay; null: unknown. */
export function describePath(
  sides: readonly [PathSide, PathSide],
  relayIsSet: boolean | null,
): PathDescription {
  const stuck = sides.find(({ online, problem }) => online && problem);
  if (stuck !== undefined) {
    const sentence = `does not work: ${problemOf(stuck)}`;
    return { state: "broken", via: null, since: null, sentence };
  }
  const reports = sides.flatMap(({ report }) => report === null ? [] : [report]);
  const working = reports.filter(({ works }) => works);
  if (working.length > 0 && working.length < reports.length) return disputed(sides);
  if (working.length > 0) return works(sides, working);
  if (sides.some(({ online }) => !online)) return offline(sides, reports);
  if (reports.length === 0) {
    return {
      state: "unknown",
      via: null,
      since: null,
      sentence: "not known: neither host reports its paths",
    };
  }
  const since = latest(reports);
  return {
    state: "broken",
    via: null,
    since,
    sentence: `does not work since ${inWords(since)}: ${reasonOf(sides, relayIsSet)}`,
  };
}

/** Why the host of an agent with a problem has no tunnel: a sentence without a full stop. */
export function problemOf({ agent_id, problem }: Pick<PathSide, "agent_id" | "problem">): string {
  const network = problem?.network ?? null;
  return `the host of ${agent_id} has no tunnel, because its own network ` +
    `${network === null ? "" : `${network} `}has addresses of the mesh`;
}

function works(
  sides: readonly [PathSide, PathSide],
  working: readonly PathReport[],
): PathDescription {
  // One report of a relay is enough: the other host may see the relay's address as an ordinary one.
  const via = working.some(({ via }) => via === "relay") ? "relay" : "direct";
  const since = latest(working);
  const silent = sides.find(({ report }) => report === null);
  const doubt = silent === undefined
    ? ""
    : silent.online
    ? `; ${silent.agent_id} does not report it`
    : `; ${silent.agent_id} sends no heartbeats`;
  const way = via === "relay" ? "through a relay" : "directly";
  return { state: "works", via, since, sentence: `works ${way} since ${inWords(since)}${doubt}` };
}

function disputed(sides: readonly [PathSide, PathSide]): PathDescription {
  const [one, other] = sides[0].report?.works ? sides : [sides[1], sides[0]];
  return {
    state: "disputed",
    via: null,
    since: null,
    sentence:
      `not clear: ${one.agent_id} reports that it works, ${other.agent_id} that it does not`,
  };
}

function offline(
  sides: readonly [PathSide, PathSide],
  reports: readonly PathReport[],
): PathDescription {
  const absent = sides.filter(({ online }) => !online);
  const who = absent.length === 2 ? "both are offline" : `${absent[0]!.agent_id} is offline`;
  const since = reports.length === 0 ? null : latest(reports);
  const when = since === null ? "" : ` since ${inWords(since)}`;
  return { state: "offline", via: null, since, sentence: `does not work${when}: ${who}` };
}

/** Why two agents that are online do not reach each other. `relayIsSet`: as in `describePath`. */
export function reasonOf(
  sides: readonly [ReasonSide, ReasonSide],
  relayIsSet: boolean | null,
): string {
  const late = sides.filter(({ lags }) => lags === true);
  if (late.length === 1) return `${late[0]!.agent_id} runs an old configuration`;
  if (late.length === 2) return "both run old configurations";
  const places = sides.map(({ agent_id, endpoints }) => ({
    agent_id,
    endpoints: outsideOf(endpoints),
  }));
  const reachable = places.filter(({ endpoints }) => endpoints.length > 0);
  if (reachable.length === 0) {
    if (relayIsSet === null) return "both are behind NAT";
    return relayIsSet
      ? "both are behind NAT, and the relay does not connect them"
      : "both are behind NAT, and no relay is set";
  }
  if (reachable.length === 1) {
    const { agent_id, endpoints } = reachable[0]!;
    return `no answer by UDP from ${agent_id} at ${endpoints.join(", ")}`;
  }
  const [one, other] = places.map(({ endpoints }) => familyOf(endpoints));
  if (one !== null && other !== null && one !== other) {
    return `no common IP version: ${sides[0].agent_id} has only ${one} endpoints, ` +
      `${sides[1].agent_id} only ${other} ones`;
  }
  return "no answer by UDP";
}

/**
 * The endpoints at which other networks may reach a host: names, and addresses that are not
 * private. If the host also has private IPv4 addresses, a public IPv4 address counts only if it has
 * the same port as one of them: then it may belong to a second network of the host. With another
 * port, it is only where a STUN server or a relay sees the host.
 */
function outsideOf(endpoints: readonly string[]): string[] {
  const places = endpoints.map((endpoint) => ({ endpoint, parsed: parseEndpoint(endpoint) }));
  const isPrivate = (host: string) => kindOf(host) === "private";
  const ports = places.flatMap(({ parsed }) =>
    parsed !== null && isPrivate(parsed.host) && isIpv4(parsed.host) ? [parsed.port] : []
  );
  const kept = new Set(
    places.flatMap(({ parsed }) => parsed && ports.includes(parsed.port) ? [parsed.host] : []),
  );
  return places.filter(({ parsed }) => {
    if (parsed === null) return true;
    if (isPrivate(parsed.host)) return false;
    return ports.length === 0 || !isIpv4(parsed.host) || kept.has(parsed.host);
  }).map(({ endpoint }) => endpoint);
}

function isIpv4(host: string): boolean {
  return /^[0-9.]+$/.test(host);
}

/**
 * The family that all endpoints have; null if they have both, or if there is a name, which only the
 * hosts resolve.
 */
function familyOf(endpoints: readonly string[]): "IPv4" | "IPv6" | null {
  if (endpoints.every((endpoint) => endpoint.startsWith("["))) return "IPv6";
  if (endpoints.every((endpoint) => /^[0-9.]+:/.test(endpoint))) return "IPv4";
  return null;
}

function latest(reports: readonly PathReport[]): string {
  return reports.map(({ since }) => since).reduce((one, other) => one > other ? one : other);
}

/** `2026-01-31 09:30 UTC`. */
function inWords(timestamp: string): string {
  return `${timestamp.slice(0, 16).replace("T", " ")} UTC`;
}

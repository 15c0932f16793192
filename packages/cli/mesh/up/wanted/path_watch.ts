/**
 * Finds with which peers a tunnel works, and by which way, from WireGuard's state. A handshake only
 * shows that a peer was there up to three minutes ago. So a peer from which nothing has come for a
 * while is sent any packet. A peer with a session answers within 10 s (WireGuard's passive
 * keepalive). A peer that does not answer is silent.
 */
import type { SentPath } from "../../../../agent-peer/service.ts";
import { kindOf, parseEndpoint } from "../../../../agent-peer/paths/places/address_kinds.ts";
import type { PathState } from "../../../../agent-peer/forwarding/agent/path_file.ts";
import type { WantedPeer } from "./accept.ts";
import type { Running, RunningPeer } from "./running.ts";

/** In seconds. The longest lifetime of a session (REJECT_AFTER_TIME). */
const SESSION = 180;
const QUIET = 15;
/** A passive keepalive comes after 10 s, and answers are checked every 10 s. */
const ANSWER = 12;
/** How long a new peer may take before it counts as not connected. */
const PATIENCE = 9;
/** The longest report that the service accepts. */
const MOST_REPORTED = 64;
/** How many of them may be peers whose tunnel has just begun or ceased to work. */
const MOST_TURNED = 32;

interface Seen {
  receivedBytes: number;
  heardAt: number;
  /** When a packet was sent to it; null if nothing is waited for. */
  askedAt: number | null;
  /** Null: not decided yet. */
  works: boolean | null;
  since: number;
  /** Its endpoint and way in the last look. */
  place: string;
  way: string;
}

export interface Look {
  readonly peers: readonly WantedPeer[];
  /** Seconds since 1970. */
  readonly now: number;
  /** What the part that seeks paths does; null if it does nothing. */
  readonly forwarding: PathState | null;
  /** Whether this host has registered an endpoint. */
  readonly hasEndpoint: boolean;
}

export interface Found {
  /** The peers to send a packet to. */
  readonly asked: readonly WantedPeer[];
  /** The public keys of the peers that have a session and do not answer. */
  readonly silent: ReadonlySet<string>;
  /** Whether the tunnel has begun or ceased to work with a peer. */
  readonly hasTurned: boolean;
  /** Sentences for the log. */
  readonly news: readonly string[];
}

export class PeerWatch {
  readonly #seen = new Map<string, Seen>();
  #paths: { readonly path: SentPath; readonly since: number }[] = [];
  #next = 0;

  look(running: Running, { peers, now, ...rest }: Look): Found {
    const [asked, silent, news]: [WantedPeer[], Set<string>, string[]] = [[], new Set(), []];
    let hasTurned = false;
    this.#paths = [];
    const keys = new Set(peers.map(({ publicKey }) => publicKey));
    for (const key of this.#seen.keys()) if (!keys.has(key)) this.#seen.delete(key);
    for (const peer of peers) {
      const state = running.peers.get(peer.publicKey);
      if (state === undefined) continue;
      const seen = this.#seenOf(state, now);
      const hasSession = state.handshakeAt > 0 && now - state.handshakeAt < SESSION;
      const isSilent = seen.askedAt !== null && now - seen.askedAt >= ANSWER;
      if (hasSession && !isSilent && state.endpoint !== null && now - seen.heardAt >= QUIET) {
        seen.askedAt ??= now;
        asked.push(peer);
      }
      if (hasSession && isSilent) silent.add(peer.publicKey);
      const told = tell(seen, { peer, state, now, works: hasSession && !isSilent, ...rest });
      if (told.news !== null) news.push(told.news);
      hasTurned ||= told.hasTurned;
      this.#paths.push({ path: told.path, since: seen.since });
    }
    return { asked, silent, hasTurned, news };
  }

  /**
   * What to report to the service: first the peers whose tunnel has begun or ceased to work since
   * the last report, then the others, which take turns. The next report goes on after them.
   */
  report(toldAt: number): SentPath[] {
    const count = this.#paths.length;
    const turned = this.#paths.filter(({ since }) => since >= toldAt).slice(0, MOST_TURNED);
    const chosen = new Set(turned);
    let taken = 0;
    for (; taken < count && chosen.size < MOST_REPORTED; taken++) {
      chosen.add(this.#paths[(this.#next + taken) % count]!);
    }
    this.#next = count === 0 ? 0 : (this.#next + taken) % count;
    return [...chosen].map(({ path }) => path);
  }

  /** What every report together would say, for `mesh up --status`. */
  get paths(): readonly SentPath[] {
    return this.#paths.map(({ path }) => path);
  }

  /** Whether one report can name all peers. */
  get isOneReportEnough(): boolean {
    return this.#paths.length <= MOST_REPORTED;
  }

  /** Forgets what is known about the peers, because it ends with their tunnel. */
  forget(): void {
    this.#seen.clear();
    this.#paths = [];
  }

  #seenOf({ publicKey, receivedBytes }: RunningPeer, now: number): Seen {
    const seen = this.#seen.get(publicKey) ?? {
      receivedBytes,
      heardAt: now,
      askedAt: null,
      works: null,
      since: now,
      place: "",
      way: "",
    };
    this.#seen.set(publicKey, seen);
    if (receivedBytes !== seen.receivedBytes) {
      [seen.heardAt, seen.askedAt, seen.receivedBytes] = [now, null, receivedBytes];
    }
    return seen;
  }
}

interface Told {
  readonly path: SentPath;
  readonly news: string | null;
  readonly hasTurned: boolean;
}

function tell(
  seen: Seen,
  { peer, state, works, now, forwarding, hasEndpoint }: Omit<Look, "peers"> & {
    readonly peer: WantedPeer;
    readonly state: RunningPeer;
    readonly works: boolean;
  },
): Told {
  // A port of this host belongs to the part that forwards packets, and that may tell where to.
  const isForwarded = /^(?:127\.|\[::1\])/.test(state.endpoint ?? "");
  const forwarded = forwarding?.peers.find(({ publicKey, endpoint }) =>
    publicKey === peer.publicKey && endpoint === state.endpoint
  );
  let via: SentPath["via"] = !works ? "none" : isForwarded ? "relay" : "direct";
  if (works && forwarded !== undefined && forwarded.via !== "none") via = forwarded.via;
  // The way may be known only after the tunnel works.
  const way = forwarded?.via === "direct" ? ", directly" : "";
  const at = forwarded?.outer ?? state.endpoint;
  const before = { works: seen.works, place: seen.place, way: seen.way };
  [seen.place, seen.way] = [at ?? "", way];
  const said = (text: string) => `${peer.agentId}: ${text}`;
  const turn = (to: boolean, text: string): Pick<Told, "news" | "hasTurned"> => {
    [seen.works, seen.since] = [to, now];
    return { news: said(text), hasTurned: true };
  };
  const told = (): Pick<Told, "news" | "hasTurned"> => {
    const by = isForwarded ? `by way of a program of this host${way}` : "directly";
    if (works && before.works !== true) return turn(true, `connected, ${by}, at ${at}`);
    if (works && isForwarded && (at !== before.place || way !== before.way)) {
      return { news: said(`is reached ${by}, at ${at}`), hasTurned: false };
    }
    if (works && at !== before.place) {
      return { news: said(`has moved from ${before.place} to ${at}`), hasTurned: false };
    }
    const why = reasonOf({ peer, state, at, isForwarded, hasEndpoint, now });
    if (!works && before.works === true) return turn(false, `no connection any more; ${why}`);
    const isSought = forwarding?.sought.includes(peer.publicKey) ?? false;
    const isOverdue = !isSought && (now - seen.since >= PATIENCE || forwarded !== undefined);
    if (!works && before.works === null && isOverdue) return turn(false, `no connection; ${why}`);
    return { news: null, hasTurned: false };
  };
  const path = {
    agent_id: peer.agentId,
    handshake_age_seconds: state.handshakeAt > 0 ? Math.max(now - state.handshakeAt, 0) : null,
    endpoint: at !== null && isReachable(at) ? at : null,
    via,
  };
  return { path, ...told() };
}

/** Why there is no connection, as far as this host can know. */
function reasonOf(
  { peer, state, at, isForwarded, hasEndpoint, now }: {
    readonly peer: WantedPeer;
    readonly state: RunningPeer;
    readonly at: string | null;
    readonly isForwarded: boolean;
    readonly hasEndpoint: boolean;
    readonly now: number;
  },
): string {
  if (isForwarded) return "no way to it is found: neither punching nor a relay reaches it";
  if (state.handshakeAt > 0) {
    return `the last handshake was ${now - state.handshakeAt} s ago, and nothing comes from ${at}`;
  }
  if (at !== null) return `no answer by UDP from ${at}`;
  const { endpoint } = peer;
  if (endpoint !== null) {
    return `${endpoint.host}:${endpoint.port} does not resolve, or leads back to this host`;
  }
  return hasEndpoint
    ? "it has no endpoint, and has not called this one"
    : "neither side has an endpoint: both may be behind NAT";
}

/** Whether another host could send to this endpoint. The service refuses other endpoints. */
function isReachable(text: string): boolean {
  const endpoint = parseEndpoint(text);
  return endpoint !== null && kindOf(endpoint.host) !== "none";
}

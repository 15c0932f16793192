/** What agent-mesh knows and answers, as far as an engine depends on it. */
import type { MeshConfiguration } from "../../../service.ts";
import type { PathReport } from "../../../paths/paths.ts";
import type { Timeline } from "../clock/timeline.ts";
import type { Random } from "../../../../../tests/seeds/random.ts";

export interface Rule {
  readonly from: string;
  readonly to: string;
  readonly port: number;
  /** Default: TCP. */
  readonly proto?: "udp" | undefined;
}

interface Member {
  readonly number: number;
  publicKey: string;
  endpoints: readonly string[];
  reports: readonly PathReport[];
  reportedAt: number;
  /** Applies the newest configuration, when the member has fetched it. */
  readonly fetch: () => void;
  /** The configuration of the last `fetch`, to notice that it differs. */
  told: string;
}

/** In milliseconds: after this, a report counts no more. */
const ONLINE = 60_000;

export class Service {
  readonly #timeline: Timeline;
  readonly #random: Random;
  readonly #members = new Map<string, Member>();
  #rules: readonly Rule[] = [];
  readonly #presharedKeys = new Map<string, string>();

  constructor(timeline: Timeline, random: Random) {
    this.#timeline = timeline;
    this.#random = random;
  }

  get rules(): readonly Rule[] {
    return this.#rules;
  }

  /** `fetch` is called each time that the member's configuration has changed. */
  add(name: string, fetch: () => void): void {
    this.#members.set(name, {
      number: this.#members.size + 1,
      publicKey: "",
      endpoints: [],
      reports: [],
      reportedAt: -Infinity,
      fetch,
      told: "",
    });
  }

  addressOf(name: string): string {
    return `10.213.0.${this.#members.get(name)!.number}`;
  }

  register(name: string, publicKey: string, endpoints: readonly string[]): void {
    Object.assign(this.#members.get(name)!, { publicKey, endpoints });
    this.#tell();
  }

  report(name: string, reports: readonly PathReport[]): void {
    Object.assign(this.#members.get(name)!, { reports, reportedAt: this.#timeline.now });
    this.#tell();
  }

  allow(rule: Rule): void {
    if (!this.allows(rule)) this.#rules = [...this.#rules, rule];
    this.#tell();
  }

  revoke(rule: Rule): void {
    this.#rules = this.#rules.filter((one) => !isSame(one, rule));
    this.#tell();
  }

  allows(rule: Rule): boolean {
    return this.#rules.some((one) => isSame(one, rule));
  }

  rotate(one: string, other: string): void {
    this.#presharedKeys.delete(pairOf(one, other));
    this.#tell();
  }

  configurationOf(name: string): MeshConfiguration {
    const rules = this.#rules.filter(({ from, to }) => from === name || to === name);
    const neighbours = [...this.#members.keys()].filter((other) =>
      other !== name && this.#members.get(other)!.publicKey !== "" &&
      rules.some(({ from, to }) => from === other || to === other)
    );
    return {
      agent_id: name,
      config_version: 0,
      interface: {
        addresses: this.#networksOf(name).map((network) => network.replace(/32$/, "16")),
        mtu: 1280,
        listen_port: null,
      },
      peers: neighbours.map((other) => ({
        agent_id: other,
        name: other,
        public_key: this.#members.get(other)!.publicKey,
        preshared_key: this.#presharedKeyOf(name, other),
        allowed_ips: this.#networksOf(other),
        endpoints: [...this.#members.get(other)!.endpoints],
        observed_endpoint: this.#observed(name, other),
        persistent_keepalive: 25,
      })),
      rules: rules.map(({ from, to, port, proto = "tcp" as const }) => ({
        from_agent: from,
        to_agent: to,
        port,
        proto,
      })) as MeshConfiguration["rules"],
      relay: false,
    };
  }

  #networksOf(name: string): string[] {
    return [`${this.addressOf(name)}/32`];
  }

  #presharedKeyOf(one: string, other: string): string {
    const pair = pairOf(one, other);
    let key = this.#presharedKeys.get(pair);
    if (key === undefined) {
      const bytes = Uint8Array.from({ length: 32 }, () => this.#random.below(256));
      key = btoa(String.fromCharCode(...bytes));
      this.#presharedKeys.set(pair, key);
    }
    return key;
  }

  /** Where a neighbour that has a direct path sees an agent: supabase/schemas/mesh/paths/. */
  #observed(viewer: string, name: string): string | null {
    const { publicKey, reports } = this.#members.get(name)!;
    for (const [observer, member] of this.#members) {
      if (observer === viewer || observer === name || !this.#isOnline(member)) continue;
      const own = reports.find((report) => report.publicKey === member.publicKey);
      const heard = member.reports.find((report) => report.publicKey === publicKey);
      if (own?.via === "direct" && heard?.via === "direct") return heard.endpoint;
    }
    return null;
  }

  #isOnline({ reportedAt }: Member): boolean {
    return this.#timeline.now - reportedAt < ONLINE;
  }

  #tell(): void {
    for (const [name, member] of this.#members) {
      const configuration = JSON.stringify(this.configurationOf(name));
      if (configuration === member.told) continue;
      member.told = configuration;
      member.fetch();
    }
  }
}

/** Whether two are the same: a rule for TCP is not one for UDP. */
export function isSame(one: Rule, other: Rule): boolean {
  return one.from === other.from && one.to === other.to && one.port === other.port &&
    one.proto === other.proto;
}

export function textOf({ from, to, port, proto }: Rule): string {
  return `${from} → ${to}:${port}${proto === "udp" ? "/udp" : ""}`;
}

function pairOf(one: string, other: string): string {
  return [one, other].sort().join(" ");
}

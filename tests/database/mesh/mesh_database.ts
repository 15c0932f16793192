/**
 * Calls the mesh's SQL functions as the edge functions do, in a separate database per test file.
 */
import postgres from "postgres";
import { createHash, randomBytes } from "node:crypto";
import type { CallerArgument } from "../../../supabase/functions/_shared/identity/callers/caller.ts";
import type { ConfigurationState } from "../../../supabase/functions/agent-mesh/configuration.ts";
import { createFromTemplate, databaseUrl, withStackDatabase } from "../connection.ts";

export type { ConfigurationState };

/** An error that an SQL function raised: its SQLSTATE, and its message. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  constructor(readonly sqlstate: string, message: string) {
    super(message);
  }
}

export interface Peer {
  readonly agent_id: string;
  readonly pubkey: string;
  readonly endpoint: string | null;
  readonly addresses: readonly [string, string];
}

export interface AccessRule {
  readonly from_agent: string;
  readonly to_agent: string;
  readonly port?: number;
  readonly proto?: string;
}

export interface Registration {
  readonly pubkey?: string;
  readonly endpoint?: string | null;
  readonly endpoint_ip?: string | null;
  readonly further_endpoints?: readonly string[];
  readonly listen_port?: number | null;
}

/** A report as the functions pass it on: `endpoint_ip` is the address of `endpoint`. */
export interface ReportedPath {
  readonly agent_id: string;
  readonly via?: "direct" | "relay" | "none";
  readonly endpoint?: string | null;
  readonly endpoint_ip?: string | null;
  readonly handshake_age_seconds?: number | null;
}

const DIRECT_PATH = { via: "direct", endpoint: null, endpoint_ip: null, handshake_age_seconds: 1 };

export interface PathReport {
  readonly works: boolean;
  readonly via: string;
  readonly since: string;
  readonly handshake_age_seconds: number | null;
  readonly endpoint: string | null;
  readonly reported_at: string;
}

export interface Path {
  readonly reported_by_self: PathReport | null;
  readonly reported_by_peer: PathReport | null;
}

const OPERATOR: CallerArgument = { kind: "operator", request_id: "test" };
const CONNECTIONS = 16;

export class MeshDatabase {
  readonly #callers = new Map<string, CallerArgument>();

  private constructor(
    /** Connected as the role that runs migrations and owns everything. */
    readonly owner: postgres.Sql,
    /** Connected like PostgREST: service_role, with the statement timeout of a hosted project. */
    readonly service: postgres.Sql,
    readonly drop: () => Promise<void>,
  ) {}

  static async create(): Promise<MeshDatabase> {
    const name = `mesh_${randomBytes(6).toString("hex")}`;
    await createFromTemplate(name, "newer");
    // Shorter than lock_timeout, which would otherwise hide a deadlock.
    await withStackDatabase((sql) => sql`alter database ${sql(name)} set deadlock_timeout = 200`);
    const url = new URL(databaseUrl(name));
    url.username = "postgres";
    const owner = postgres(url.href, { max: 4, onnotice: () => {} });
    const service = postgres(url.href, {
      max: CONNECTIONS,
      connection: { role: "service_role", statement_timeout: 8_000 },
    });
    return new MeshDatabase(owner, service, async () => {
      await Promise.all([owner.end(), service.end()]);
      await withStackDatabase((sql) => sql`drop database ${sql(name)} with (force)`);
    });
  }

  /** Calls a function of the schema public with named parameters. Throws Refusal. */
  async call<Answer>(functionName: string, parameters: Record<string, unknown>): Promise<Answer> {
    const names = Object.keys(parameters).map((name, index) => `${name} => $${index + 1}`);
    try {
      const [row] = await this.service.unsafe(
        `select public.agent_api_${functionName}(${names.join(", ")}) as answer`,
        Object.values(parameters) as postgres.ParameterOrJSON<never>[],
      );
      return row?.["answer"];
    } catch (cause) {
      if (cause instanceof postgres.PostgresError) throw new Refusal(cause.code, cause.message);
      throw cause;
    }
  }

  /** The `caller` of an agent. The first call creates the agent's key. */
  async callerOf(agent: string): Promise<CallerArgument> {
    const known = this.#callers.get(agent);
    if (known !== undefined) return known;
    const { key } = await this.call<{ key: string }>("create_agent_key", { agent_id: agent });
    const key_hash = createHash("sha256").update(key).digest("hex");
    const caller: CallerArgument = { kind: "agent", key_hash, request_id: "test" };
    this.#callers.set(agent, caller);
    return caller;
  }

  register(agent_id: string, registration: Registration = {}): Promise<Peer> {
    return this.call<Peer>("register_peer", {
      caller: OPERATOR,
      agent_id,
      pubkey: randomPubkey(),
      endpoint: null,
      endpoint_ip: null,
      listen_port: null,
      online_seconds: 90,
      ...registration,
    });
  }

  remove(agent_id: string): Promise<{ removed: boolean }> {
    return this.call("remove_peer", { caller: OPERATOR, agent_id });
  }

  put(rule: AccessRule, caller = OPERATOR): Promise<{ created: boolean; active: boolean }> {
    return this.call("put_rule", { caller, port: 443, proto: "tcp", ...rule });
  }

  revoke(rule: AccessRule): Promise<{ revoked: boolean }> {
    return this.call("revoke_rule", { caller: OPERATOR, port: 443, proto: "tcp", ...rule });
  }

  rotate(a: string, b: string): Promise<{ psk_version: number }> {
    return this.call("rotate_psk", { caller: OPERATOR, a, b });
  }

  /** The state from which the configuration is rendered; null for an agent without a peer. */
  async configuration(agent_id: string): Promise<ConfigurationState | null> {
    try {
      return await this.call("read_wg_config", { caller: OPERATOR, agent_id });
    } catch (error) {
      if (error instanceof Refusal && error.message === "peer_not_found") return null;
      throw error;
    }
  }

  /** A heartbeat with the host's report about its neighbours. */
  heartbeat(agent_id: string, paths?: readonly ReportedPath[], wait_seconds = 0): Promise<unknown> {
    return this.call("record_heartbeat", {
      caller: OPERATOR,
      agent_id,
      config_version: null,
      wait_seconds,
      ...(paths && { paths: paths.map((path) => ({ ...DIRECT_PATH, ...path })) }),
    });
  }

  /** The path between two agents according to the first one's netmap. */
  async pathBetween(agent_id: string, other: string, online_seconds = 90): Promise<Path | null> {
    const { peers } = await this.call<{ peers: { agent_id: string; path: Path | null }[] }>(
      "read_netmap",
      { caller: OPERATOR, agent_id, online_seconds },
    );
    const entry = peers.find((peer) => peer.agent_id === other);
    if (entry === undefined) throw new Error(`${agent_id} does not see ${other}.`);
    return entry.path;
  }

  /** The endpoint at which neighbours see the second agent, as the first one is told. */
  async observedEndpoint(agent_id: string, other: string): Promise<string | null> {
    const state = await this.configuration(agent_id);
    const peer = state?.peers.find((peer) => peer.agent_id === other);
    if (peer === undefined) throw new Error(`${agent_id} does not see ${other}.`);
    return peer.observed_endpoint;
  }

  /** Stores a PSK for every pair of the agent without one, as /wg_config would. */
  storePsks(state: ConfigurationState): Promise<ConfigurationState> {
    const psks = state.peers.filter(({ encrypted_psk }) => encrypted_psk === null).map((peer) => ({
      agent_id: peer.agent_id,
      psk_version: peer.psk_version,
      encrypted_psk: `v1.${"0".repeat(16)}.${randomBytes(24).toString("base64")}`,
    }));
    return this.call("store_psks", { caller: OPERATOR, agent_id: state.agent_id, psks });
  }

  /** Deletes all peers, rules, versions and addresses, and sets the mesh's IPv4 network. */
  async startOver(ipv4Network = "10.213.0.0/16"): Promise<void> {
    await this.owner.begin(async (sql) => {
      await sql`
        truncate mesh.peers, mesh.liveness, mesh.rules, mesh.pairs, mesh.path_reports, mesh.address_leases, mesh.config_versions,
          mesh.counters, mesh.censuses`;
      await sql`update mesh.settings set ipv4_network = ${ipv4Network}`;
    });
  }
}

/** A database for the tests of one file, created before the first and dropped after the last. */
export function meshDatabaseForThisFile(): { readonly mesh: MeshDatabase } {
  let mesh: MeshDatabase | undefined;
  Deno.test.beforeAll(async () => {
    mesh = await MeshDatabase.create();
  });
  Deno.test.afterAll(() => mesh?.drop());
  return {
    get mesh() {
      if (mesh === undefined) throw new Error("There is a database only while tests run.");
      return mesh;
    },
  };
}

/** 32 random bytes are enough, because the database checks only a public key's form. */
export function randomPubkey(): string {
  return randomBytes(32).toString("base64");
}

/** `count` agent ids, in no particular order. */
export function agentNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `agent-${index}`);
}

/** Retries a call that exceeded the lock timeout, which happens on a busy machine. */
export async function untilDone<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof Refusal && error.sqlstate === "55P03")) throw error;
    }
  }
}

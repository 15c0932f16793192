import type {
  Identity,
  MeshAnswer,
  MeshConfiguration,
  MeshEvent,
  MeshPath,
  MeshRequest,
  Netmap,
  Peer,
  WgQuickConfiguration,
} from "./contract/types.ts";
import {
  type ConfigurationRequest,
  type ConfigurationsOptions,
  followConfigurations,
} from "./follow/configurations.ts";
import { type EventsOptions, followEvents } from "./follow/events.ts";
import { Connection } from "./http/connection.ts";
import type { CallerOptions, CallOptions } from "./http/connection_options.ts";

/**
 * An agent's part in the mesh. Every method throws AgentError, or the reason that its signal was
 * aborted with. Each takes and returns the operation's fields.
 *
 * @example
 * ```ts
 * const mesh = new AgentMesh({ url: "https://<ref>.supabase.co", key: "ak_…" });
 * ```
 */
export class AgentMesh {
  readonly #connection: Connection;

  constructor(options: CallerOptions) {
    this.#connection = new Connection("agent-mesh", options);
  }

  /**
   * Joins the mesh, or updates the agent's registration.
   *
   * @example
   * ```ts
   * const { addresses } = await mesh.register({ pubkey, endpoint: "203.0.113.7:51820" });
   * ```
   */
  register(
    request: MeshRequest<"/peer/register">,
    options: CallOptions = {},
  ): Promise<Peer> {
    return this.#post<"/peer/register">(
      "/peer/register",
      this.#own(request),
      options,
    );
  }

  /**
   * Reports that the agent is online. With `wait_seconds`, waits for a change of the configuration.
   *
   * @example
   * ```ts
   * const { config_version } = await mesh.heartbeat({ wait_seconds: 30 });
   * ```
   */
  heartbeat(
    request: MeshRequest<"/peer/heartbeat"> = {},
    options: CallOptions = {},
  ): Promise<MeshAnswer<"/peer/heartbeat">> {
    return this.#post<"/peer/heartbeat">(
      "/peer/heartbeat",
      this.#own(request),
      options,
    );
  }

  /**
   * Leaves the mesh: the peer and its rules are removed.
   *
   * @example
   * ```ts
   * const { removed } = await mesh.remove();
   * ```
   */
  remove(options: CallOptions = {}): Promise<MeshAnswer<"/peer/remove">> {
    return this.#post<"/peer/remove">("/peer/remove", this.#own({}), options);
  }

  /**
   * The peers, rules and requests that the agent can see.
   *
   * @example
   * ```ts
   * for (const { agent_id, online } of (await mesh.netmap()).peers) console.log(agent_id, online);
   * ```
   */
  netmap(options: CallOptions = {}): Promise<Netmap> {
    return this.#post<"/netmap">("/netmap", this.#own({}), options);
  }

  /**
   * Agrees to a rule. It is active once both of its agents have agreed.
   *
   * @example
   * ```ts
   * const { active } = await mesh.allow({
   *   from_agent: "builder",
   *   to_agent: "planner",
   *   port: 443,
   *   proto: "tcp",
   * });
   * ```
   */
  allow(
    rule: MeshRequest<"/acl/put">,
    options: CallOptions = {},
  ): Promise<MeshAnswer<"/acl/put">> {
    return this.#post<"/acl/put">("/acl/put", rule, options);
  }

  /**
   * Ends a rule for both of its agents.
   *
   * @example
   * ```ts
   * await mesh.revoke({ from_agent: "builder", to_agent: "planner", port: 443, proto: "tcp" });
   * ```
   */
  revoke(
    rule: MeshRequest<"/acl/revoke">,
    options: CallOptions = {},
  ): Promise<MeshAnswer<"/acl/revoke">> {
    return this.#post<"/acl/revoke">("/acl/revoke", rule, options);
  }

  /**
   * The wg-quick configuration, which contains PSKs, and its version.
   *
   * @example
   * ```ts
   * const { config, config_version } = await mesh.configuration();
   * ```
   */
  configuration(
    request: ConfigurationRequest = {},
    options: CallOptions = {},
  ): Promise<WgQuickConfiguration> {
    return this.#connection.post<WgQuickConfiguration>(
      "/wg_config",
      this.#own(request),
      options,
    );
  }

  /**
   * The configuration for a program that is a peer itself. It contains PSKs. `join` of
   * `agent-files/mesh` is such a program.
   *
   * @example
   * ```ts
   * const { peers, rules } = await mesh.jsonConfiguration();
   * ```
   */
  jsonConfiguration(options: CallOptions = {}): Promise<MeshConfiguration> {
    return this.#connection.post<MeshConfiguration>(
      "/wg_config",
      this.#own({ format: "json" }),
      options,
    );
  }

  /**
   * Yields the configuration, now and whenever it changes. Sends heartbeats in between, with the
   * reports on neighbours that `paths` returns.
   *
   * @example
   * ```ts
   * for await (const { config } of mesh.configurations()) await apply(config);
   * ```
   */
  configurations(
    request: ConfigurationRequest = {},
    options: ConfigurationsOptions = {},
  ): AsyncGenerator<WgQuickConfiguration, void, undefined> {
    return followConfigurations(this.#connection, request, options);
  }

  /**
   * Replaces the PSK of a pair of agents.
   *
   * @example
   * ```ts
   * const { psk_version } = await mesh.rotatePsk({ a: "builder", b: "planner" });
   * ```
   */
  rotatePsk(
    pair: MeshRequest<"/psk/rotate">,
    options: CallOptions = {},
  ): Promise<MeshAnswer<"/psk/rotate">> {
    return this.#post<"/psk/rotate">("/psk/rotate", pair, options);
  }

  /**
   * TURN servers that relay for the agent, with credentials for an hour at most.
   *
   * @example
   * ```ts
   * const { ice_servers, expires_at } = await mesh.relay();
   * ```
   */
  relay(options: CallOptions = {}): Promise<MeshAnswer<"/relay">> {
    return this.#post<"/relay">("/relay", this.#own({}), options);
  }

  /**
   * The events of the agent in the mesh, and its own actions. With `wait`, continues with each new
   * event.
   *
   * @example
   * ```ts
   * for await (const { type, at } of mesh.events({ wait: true })) console.log(at, type);
   * ```
   */
  events(
    options: EventsOptions = {},
  ): AsyncGenerator<MeshEvent, void, undefined> {
    return followEvents<MeshAnswer<"/events">>(this.#connection, options);
  }

  /**
   * Tells where something is newer than the given positions: in the configuration, the inbox, or
   * the events of either function. With `wait_seconds`, waits until something is. Counts as a
   * heartbeat.
   *
   * @example
   * ```ts
   * const { config_version } = await mesh.wait({ config_version: running, wait_seconds: 140 });
   * ```
   */
  wait(
    request: MeshRequest<"/wait"> = {},
    options: CallOptions = {},
  ): Promise<MeshAnswer<"/wait">> {
    return this.#post<"/wait">("/wait", this.#own(request), options);
  }

  /**
   * Ends the agent: its keys, its peer and its rules. `remove` ends only its peer and rules.
   *
   * @example
   * ```ts
   * const { left } = await mesh.leave();
   * ```
   */
  leave(options: CallOptions = {}): Promise<MeshAnswer<"/leave">> {
    return this.#post<"/leave">("/leave", this.#own({}), options);
  }

  /**
   * The agent or the operator that the key belongs to.
   *
   * @example
   * ```ts
   * const { agent_id } = await mesh.whoami();
   * ```
   */
  whoami(options: CallOptions = {}): Promise<Identity> {
    return this.#connection.get<Identity>("/whoami", options);
  }

  #post<Path extends MeshPath>(
    path: Path,
    request: MeshRequest<Path>,
    options: CallOptions,
  ): Promise<MeshAnswer<Path>> {
    return this.#connection.post<MeshAnswer<Path>>(
      path,
      request as object,
      options,
    );
  }

  /** Adds the agent's identifier to a request, if the connection knows it. */
  #own<Request extends object>(
    request: Request,
  ): Request & { agent_id?: string } {
    const { agentId } = this.#connection;
    return agentId === undefined ? request : { agent_id: agentId, ...request };
  }
}

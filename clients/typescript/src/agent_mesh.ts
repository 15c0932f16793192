import type {
  Identity,
  MeshAnswer,
  MeshEvent,
  MeshPath,
  MeshRequest,
  Netmap,
  Peer,
} from "./contract/types.ts";
import { type ConfigurationRequest, followConfigurations } from "./follow/configurations.ts";
import { type EventsOptions, followEvents } from "./follow/events.ts";
import { type CallOptions, Connection, type ConnectionOptions } from "./http/connection.ts";

/**
 * An agent's part in the mesh. Every method throws AgentError, or what its signal was aborted with.
 * Each takes and answers what its operation does.
 */
export class AgentMesh {
  readonly #connection: Connection;

  constructor(options: ConnectionOptions) {
    this.#connection = new Connection("agent-mesh", options);
  }

  /** Joins the mesh, or changes what it knows of the agent. */
  register(request: MeshRequest<"/peer/register">, options: CallOptions = {}): Promise<Peer> {
    return this.#post<"/peer/register">("/peer/register", this.#own(request), options);
  }

  heartbeat(
    request: MeshRequest<"/peer/heartbeat"> = {},
    options: CallOptions = {},
  ): Promise<MeshAnswer<"/peer/heartbeat">> {
    return this.#post<"/peer/heartbeat">("/peer/heartbeat", this.#own(request), options);
  }

  /** Leaves the mesh. */
  remove(options: CallOptions = {}): Promise<MeshAnswer<"/peer/remove">> {
    return this.#post<"/peer/remove">("/peer/remove", this.#own({}), options);
  }

  /** The peers, rules and requests that the agent sees. */
  netmap(options: CallOptions = {}): Promise<Netmap> {
    return this.#post<"/netmap">("/netmap", this.#own({}), options);
  }

  /** Agrees to a rule, which is active once both of its agents have. */
  allow(
    rule: MeshRequest<"/acl/put">,
    options: CallOptions = {},
  ): Promise<MeshAnswer<"/acl/put">> {
    return this.#post<"/acl/put">("/acl/put", rule, options);
  }

  /** Ends a rule for both of its agents. */
  revoke(
    rule: MeshRequest<"/acl/revoke">,
    options: CallOptions = {},
  ): Promise<MeshAnswer<"/acl/revoke">> {
    return this.#post<"/acl/revoke">("/acl/revoke", rule, options);
  }

  /** The wg-quick configuration, which holds PSKs, and its version. */
  configuration(
    request: ConfigurationRequest = {},
    options: CallOptions = {},
  ): Promise<MeshAnswer<"/wg_config">> {
    return this.#post<"/wg_config">("/wg_config", this.#own(request), options);
  }

  /** The configuration now and whenever it changes, with heartbeats in between. */
  configurations(
    request: ConfigurationRequest = {},
    options: CallOptions = {},
  ): AsyncGenerator<MeshAnswer<"/wg_config">, void, undefined> {
    return followConfigurations(this.#connection, request, options);
  }

  /** Replaces the PSK of a pair. */
  rotatePsk(
    pair: MeshRequest<"/psk/rotate">,
    options: CallOptions = {},
  ): Promise<MeshAnswer<"/psk/rotate">> {
    return this.#post<"/psk/rotate">("/psk/rotate", pair, options);
  }

  /** What happened to the agent in the mesh and what it did; with `wait`, then what comes. */
  events(options: EventsOptions = {}): AsyncGenerator<MeshEvent, void, undefined> {
    return followEvents<MeshAnswer<"/events">>(this.#connection, options);
  }

  /** Whom the key stands for. */
  whoami(options: CallOptions = {}): Promise<Identity> {
    return this.#connection.get<Identity>("/whoami", options);
  }

  #post<Path extends MeshPath>(
    path: Path,
    request: MeshRequest<Path>,
    options: CallOptions,
  ): Promise<MeshAnswer<Path>> {
    return this.#connection.post<MeshAnswer<Path>>(path, request as object, options);
  }

  /** A request that names the agent, where the connection knows which it is. */
  #own<Request extends object>(request: Request): Request & { agent_id?: string } {
    const { agentId } = this.#connection;
    return agentId === undefined ? request : { agent_id: agentId, ...request };
  }
}

import { ObjectRows } from "../../../packages/local/storage/object_rows.ts";
import { createStorageApp } from "../../../packages/local/storage/server.ts";
import type { artifactsApp } from "../../../supabase/functions/agent-artifacts/app.ts";
import type { meshApp } from "../../../supabase/functions/agent-mesh/app.ts";
import { MOST_RULES } from "../known/mesh/mesh.ts";
import { ObjectBytes } from "../storage/object_bytes.ts";
import { rowsPool } from "../storage/rows_pool.ts";
import { signedTokens } from "../storage/signed_tokens.ts";
import { CONCERN_DELIVERIES, HandedOut } from "../webhooks/handed_out.ts";
import { REACTIONS, Receivers } from "../webhooks/receivers.ts";
import { ENCRYPTION_KEYS } from "../webhooks/signing_secrets.ts";
import type { SimulatedDatabase } from "./database.ts";
import { Decisions, type Omissions } from "./decisions.ts";
import { ownGlobals, type Running, settled } from "./globals.ts";
import { Instance } from "./instance.ts";
import { COPYING, Network, type Server } from "./network.ts";
import { lockNotAvailable, type Postgrest } from "./postgrest.ts";
import { Timeline } from "./timeline.ts";
import { Transcript } from "./transcript.ts";

export const ORIGIN = "http://project.test";
export const SECRET_KEY = "sb_secret_simulated";
const START = Date.UTC(2026, 0, 5, 8);

const SETTINGS = new Map([
  ["SUPABASE_URL", ORIGIN],
  ["SUPABASE_SECRET_KEYS", JSON.stringify({ default: SECRET_KEY })],
  ["PSK_ENCRYPTION_KEYS", ENCRYPTION_KEYS],
  ["LOG_ORDINARY_REQUESTS", "false"],
  // Small, so that histories reach it.
  ["MESH_MAX_RULES", `${MOST_RULES}`],
  // Small, so that small files are verified in several calls.
  ["ARTIFACTS_COMMIT_BYTES_PER_CALL", "24"],
]);

const STORAGE_CALL =
  /^\/(object\/(?:upload\/sign|sign|move|info|authenticated)|object|bucket)(?:\/|$)/;

export type FunctionName = "agent-artifacts" | "agent-mesh";

/** What makes the functions: a broken copy has other ones. */
export interface Apps {
  readonly "agent-artifacts": typeof artifactsApp;
  readonly "agent-mesh": typeof meshApp;
}

/** What outlives a history. */
export interface Deployment {
  readonly database: SimulatedDatabase;
  readonly postgrest: Postgrest;
  readonly apps: Apps;
}

/** A whole deployment in one process: database, Storage, functions, time and chance. */
export class World {
  readonly timeline = new Timeline();
  readonly decisions: Decisions;
  readonly transcript = new Transcript(this.timeline);
  readonly network: Network;
  readonly database: SimulatedDatabase;
  readonly postgrest: Postgrest;
  readonly bytes: ObjectBytes;
  readonly handedOut = new HandedOut();
  readonly receivers = new Receivers(this.handedOut);
  /** Milliseconds by which each clock differs from the time that has passed. */
  readonly clockErrors = { functions: 0, database: 0 };
  readonly #apps: Apps;
  readonly #storage: Server;
  readonly #instances = new Map<FunctionName, Instance>();
  readonly #settings = new Map(SETTINGS);
  #instanceCount = 0;

  constructor(
    readonly seed: number,
    { database, postgrest, apps }: Deployment,
    omissions: Omissions,
  ) {
    this.database = database;
    this.postgrest = postgrest;
    this.#apps = apps;
    this.decisions = new Decisions(seed, omissions);
    this.network = new Network(this.timeline, this.decisions, this.transcript);
    const pause = (work: string, delays?: typeof COPYING) => {
      const name = this.network.nameCall(`Storage ${work}`);
      return this.timeline.sleep(this.network.delay(name, delays));
    };
    this.bytes = new ObjectBytes({
      receive: () => pause("receives"),
      copy: () => pause("copies", COPYING),
    });
    const storage = createStorageApp({
      rows: new ObjectRows(rowsPool(database)),
      files: this.bytes.asFiles,
      tokens: signedTokens(SECRET_KEY),
      sizeLimit: 50 * 1024 ** 2,
      copyMilliseconds: 0,
    });
    this.#storage = async (request) => await storage.fetch(request);
    const background = this.party("background");
    ownGlobals({
      timeline: this.timeline,
      wallClock: () => START + this.timeline.now + this.clockErrors.functions,
      databaseClock: () => this.databaseClock(),
      fetch: (input, init) => this.#fetch(new Request(input, init), init?.signal),
      log: (text) => this.transcript.note(`log: ${text}`),
      background,
    });
  }

  /** Milliseconds since 1970. */
  databaseClock(): number {
    return START + this.timeline.now + this.clockErrors.database;
  }

  /** Gives the clocks and the globals back to the process. */
  end(): void {
    ownGlobals(null);
  }

  /** Somebody whose code runs, with randomness of its own. */
  party(name: string, instance: Instance | null = null): Running {
    return { name, random: this.decisions.random(name), instance, calls: new Map() };
  }

  /** The process that answers for a function; a new one after a restart. */
  instanceOf(name: FunctionName): Instance {
    const present = this.#instances.get(name);
    if (present?.isAlive) return present;
    const environment = { get: (variable: string) => this.#settings.get(variable) };
    const app = this.#apps[name](environment, () => {});
    const instance = new Instance(
      `${name} ${++this.#instanceCount}`,
      async (request) => await app.fetch(request),
    );
    this.#instances.set(name, instance);
    return instance;
  }

  get isClosed(): boolean {
    return this.#settings.has("MAINTENANCE");
  }

  /** From now on, the functions answer only the operator. Deploying replaces their processes. */
  closeFunctions(): void {
    this.#settings.set("MAINTENANCE", "true");
    for (const instance of this.#instances.values()) instance.kill();
  }

  openFunctions(): void {
    this.#settings.delete("MAINTENANCE");
    for (const instance of this.#instances.values()) instance.kill();
  }

  /**
   * Sends a client's request through the gateway. `name` is the request's own, such as `12.1`.
   * Rejects if no answer comes.
   */
  send(name: string, request: Request, signal: AbortSignal): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    const storagePath = /^\/storage\/v1(\/.*)$/.exec(pathname)?.[1];
    if (storagePath !== undefined) {
      const inner = new Request(`${ORIGIN}${storagePath}${search}`, request);
      const serverSide = this.party(`${name} at Storage`);
      return this.network.call(name, inner, { server: this.#storage, serverSide, signal });
    }
    const path = pathname.replace("/functions/v1", "");
    const instance = this.instanceOf(path.split("/")[1] as FunctionName);
    const inner = new Request(`${ORIGIN}${path}`, request);
    const serverSide = this.party(name, instance);
    return this.network.call(name, inner, { server: instance.answer, serverSide, signal });
  }

  /** Lets events happen until `until`, or until nothing is left to happen. */
  async run(until: number, isOver: () => boolean = () => false): Promise<void> {
    const activity = () => this.network.activity;
    await settled(activity);
    while (!isOver() && this.timeline.step(until)) await settled(activity);
    if (Number.isFinite(until)) this.timeline.passTo(until);
  }

  /** A call that a function makes. */
  #fetch(request: Request, signal: AbortSignal | null | undefined): Promise<Response> {
    this.network.activity++;
    const { pathname, search } = new URL(request.url);
    const sqlFunction = /^\/rest\/v1\/rpc\/(agent_api_\w+)$/.exec(pathname)?.[1];
    if (sqlFunction !== undefined) {
      const name = this.network.nameCall(sqlFunction.replace("agent_api_", ""));
      const isBusy = this.network.isBadLuck(`${name} lock`, 250);
      if (isBusy) this.transcript.fault(name, "waits too long for a lock");
      const server: Server = async (received) =>
        isBusy
          ? lockNotAvailable()
          : await this.#callSql(sqlFunction, await received.text(), received.headers);
      return this.network.call(name, request, { server, serverSide: this.party(name), signal });
    }
    if (Receivers.nameOf(request.url) !== null) return this.#tellReceiver(request, signal);
    const storagePath = /^\/storage\/v1(\/.*)$/.exec(pathname)?.[1];
    if (storagePath === undefined) throw new Error(`Nobody answers at ${pathname}.`);
    const call = STORAGE_CALL.exec(storagePath)?.[1] ?? "other";
    const name = this.network.nameCall(`${request.method} ${call}`);
    const inner = new Request(`${ORIGIN}${storagePath}${search}`, request);
    const serverSide = this.party(name);
    return this.network.call(name, inner, { server: this.#storage, serverSide, signal });
  }

  async #callSql(sqlFunction: string, body: string, headers: Headers): Promise<Response> {
    const response = this.postgrest.call(sqlFunction, body, headers);
    if (response.ok && CONCERN_DELIVERIES.has(sqlFunction)) {
      const answer = await response.clone().text();
      this.handedOut.note(sqlFunction, body, answer, this.databaseClock());
    }
    return response;
  }

  /** A webhook's message. */
  #tellReceiver(request: Request, signal: AbortSignal | null | undefined): Promise<Response> {
    const name = this.network.nameCall(`POST ${Receivers.nameOf(request.url)}`);
    const reaction = this.network.isCalm
      ? 204
      : this.decisions.choose(`${name} reaction`, REACTIONS);
    if (reaction === "hangs") this.transcript.fault(name, "the receiver does not answer");
    const server: Server = (received) => this.receivers.receive(received, reaction);
    return this.network.call(name, request, { server, serverSide: this.party(name), signal });
  }
}

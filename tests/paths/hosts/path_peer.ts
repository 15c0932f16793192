import type { PathPeer as Configuration } from "../../../packages/agent-peer/paths/paths.ts";
import type { RelayAnswer } from "../../../packages/agent-peer/paths/paths.ts";
import { eventually } from "../../wireguard/hosts/run_program.ts";
import { type KeyPair, newKeyPair } from "../../tunnel/hosts/sandbox_peer.ts";
import { BundledProgram, type Runtime } from "../../tunnel/hosts/bundled_program.ts";
import { JsonProgram } from "../../tunnel/hosts/json_program.ts";
import type { Command, PathState } from "./path_peer_protocol.ts";
import type { SiteHost } from "./sites.ts";

let bundling: Promise<BundledProgram> | null = null;

/** A peer at some site that needs no kernel support, TUN device or privilege. */
export class PathPeer implements AsyncDisposable {
  readonly #program: JsonProgram;

  private constructor(
    readonly at: SiteHost,
    readonly inner: string,
    readonly keys: KeyPair,
    program: JsonProgram,
  ) {
    this.#program = program;
  }

  static async start(
    at: SiteHost,
    { inner, runtime = "node" }: { readonly inner: string; readonly runtime?: Runtime },
  ): Promise<PathPeer> {
    const keys = await newKeyPair();
    bundling ??= BundledProgram.of(new URL("./path_program.ts", import.meta.url));
    const command = (await bundling).command(runtime, { isPrivileged: false });
    const program = await JsonProgram.start(at.host, [...command, keys.privateKey, inner]);
    return new PathPeer(at, inner, keys, program);
  }

  tell<Answer = unknown>(command: Command): Promise<Answer> {
    return this.#program.tell<Answer>(command);
  }

  /** Opens the peer. Resolves when it knows its endpoints. */
  open(
    { relay, ca }: { readonly relay: RelayAnswer | null; readonly ca: string },
  ): Promise<PathState> {
    return this.tell({ do: "open", relay, ca, proxy: this.at.proxy });
  }

  state(): Promise<PathState> {
    return this.tell({ do: "state" });
  }

  async setPeers(...peers: readonly PathPeer[]): Promise<void> {
    const configurations = await Promise.all(peers.map((peer) => peer.asPeer()));
    await this.tell({ do: "setPeers", peers: configurations });
  }

  /** The peer as the service describes it to others. */
  async asPeer(): Promise<Configuration> {
    return {
      publicKey: this.keys.publicKey,
      presharedKey: null,
      allowedIps: [`${this.inner}/32`],
      endpoints: (await this.state()).endpoints,
      observed_endpoint: null,
    };
  }

  /** Whether a ping is answered within three seconds. */
  async pings({ inner }: { readonly inner: string }): Promise<boolean> {
    return (await this.tell<{ answered: number }>({ do: "ping", to: inner })).answered === 1;
  }

  /** From now on, sends a ping every 20 ms. */
  async startPings({ inner }: { readonly inner: string }): Promise<void> {
    await this.tell({ do: "startPings", to: inner, everyMs: 20 });
  }

  untilPinged(count: number): Promise<void> {
    return eventually(`${count} pings are sent`, {
      condition: async () => (await this.state()).pings >= count,
    });
  }

  stopPings(): Promise<{ readonly sent: number; readonly answered: number }> {
    return this.tell({ do: "stopPings" });
  }

  untilJoined(other: PathPeer): Promise<void> {
    return eventually(`${this.at.host.namespace} and ${other.at.host.namespace} are joined`, {
      condition: async () => await this.pings(other) && await other.pings(this),
    });
  }

  untilVia(other: PathPeer, via: "direct" | "relay" | "none"): Promise<void> {
    return eventually(`${this.at.host.namespace} - ${other.at.host.namespace}: ${via}`, {
      condition: async () => await this.viaTo(other) === via && await other.viaTo(this) === via,
    });
  }

  async viaTo({ keys }: PathPeer): Promise<"direct" | "relay" | "none"> {
    const { reports } = await this.state();
    return reports.find(({ publicKey }) => publicKey === keys.publicKey)?.via ?? "none";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#program[Symbol.asyncDispose]();
  }
}

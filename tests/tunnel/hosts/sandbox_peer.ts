import { fileURLToPath } from "node:url";
import { run } from "../../wireguard/hosts/command.ts";
import type { Host } from "../../wireguard/hosts/host.ts";
import type { PeerConfiguration } from "../../../clients/typescript/src/mesh/wireguard/tunnel.ts";
import type { Command, State } from "./commands.ts";
import { type Runtime, UnprivilegedProgram } from "./unprivileged_program.ts";

const PROGRAM = fileURLToPath(new URL("./peer_program.ts", import.meta.url));

export type { Runtime };

export interface KeyPair {
  readonly privateKey: string;
  readonly publicKey: string;
}

export async function newKeyPair(): Promise<KeyPair> {
  const privateKey = (await run(["wg", "genkey"])).trim();
  const publicKey = (await run(["wg", "pubkey"], { input: privateKey })).trim();
  return { privateKey, publicKey };
}

/** The peer program in a namespace. */
export class SandboxPeer implements AsyncDisposable {
  readonly #program: UnprivilegedProgram;

  private constructor(
    readonly host: Host,
    readonly inner: string,
    readonly keys: KeyPair,
    program: UnprivilegedProgram,
  ) {
    this.#program = program;
  }

  static async start(
    host: Host,
    { inner, runtime = "deno", keys }: {
      readonly inner: string;
      readonly runtime?: Runtime;
      readonly keys?: KeyPair;
    },
  ): Promise<SandboxPeer> {
    const ownKeys = keys ?? await newKeyPair();
    const args = [ownKeys.privateKey, inner];
    const program = await UnprivilegedProgram.start(host, { program: PROGRAM, args, runtime });
    const peer = new SandboxPeer(host, inner, ownKeys, program);
    await peer.state();
    return peer;
  }

  tell<Answer = unknown>(command: Command): Promise<Answer> {
    return this.#program.tell<Answer>(command);
  }

  setPeers(...peers: PeerConfiguration[]): Promise<unknown> {
    return this.tell({ do: "setPeers", peers });
  }

  /** How many of so many pings are answered. */
  async ping(
    to: string,
    { count = 1, source }: {
      readonly count?: number;
      readonly source?: string;
    } = {},
  ): Promise<number> {
    const command = {
      do: "ping",
      to,
      count,
      ...(source && { source }),
    } as const;
    return (await this.tell<{ answered: number }>(command)).answered;
  }

  state(): Promise<State> {
    return this.tell({ do: "state" });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#program[Symbol.asyncDispose]();
  }
}

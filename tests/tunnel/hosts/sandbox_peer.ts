import { run } from "../../wireguard/hosts/run_program.ts";
import type { Host } from "../../wireguard/hosts/host.ts";
import type { PeerConfiguration } from "../../../packages/agent-peer/wireguard/tunnel.ts";
import { BundledProgram, type Runtime } from "./bundled_program.ts";
import type { Command, State } from "./peer_protocol.ts";
import { JsonProgram } from "./json_program.ts";

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

/** The peer program in a namespace, as the user `nobody` without capabilities. */
export class SandboxPeer implements AsyncDisposable {
  private constructor(
    readonly host: Host,
    readonly inner: string,
    readonly keys: KeyPair,
    readonly program: JsonProgram,
  ) {}

  static async start(
    host: Host,
    { inner, runtime = "deno", keys }: {
      readonly inner: string;
      readonly runtime?: Runtime;
      readonly keys?: KeyPair;
    },
  ): Promise<SandboxPeer> {
    const ownKeys = keys ?? await newKeyPair();
    bundling ??= BundledProgram.of(new URL("./peer_program.ts", import.meta.url));
    const command = (await bundling).command(runtime, { isPrivileged: false });
    const program = await JsonProgram.start(host, [...command, ownKeys.privateKey, inner]);
    return new SandboxPeer(host, inner, ownKeys, program);
  }

  tell<Answer = unknown>(command: Command): Promise<Answer> {
    return this.program.tell(command);
  }

  setPeers(...peers: PeerConfiguration[]): Promise<unknown> {
    return this.tell({ do: "setPeers", peers });
  }

  /** How many of `count` pings are answered. */
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
    await this.program[Symbol.asyncDispose]();
  }
}

let bundling: Promise<BundledProgram> | null = null;

import type { Host } from "../../wireguard/hosts/host.ts";
import { BundledProgram, type Runtime } from "../hosts/bundled_program.ts";
import { JsonProgram } from "../hosts/json_program.ts";
import type { KernelPeer } from "../hosts/kernel_peer.ts";
import { type KeyPair, newKeyPair } from "../hosts/sandbox_peer.ts";
import type { Channel } from "../path/emulated_path.ts";
import type { Command, Exchange, Exchanged, State, Target } from "./tcp_protocol.ts";

const LWIP = new URL("../../../packages/agent-peer/ip/built/lwip.wasm", import.meta.url);

export interface InnerAddresses {
  readonly ipv4: string;
  readonly ipv6: string;
}

let bundling: Promise<{ program: BundledProgram; lwip: string }> | null = null;

async function bundle() {
  const program = await BundledProgram.of(new URL("./tcp_program.ts", import.meta.url));
  return { program, lwip: await program.add("lwip.wasm", LWIP) };
}

/** A TCP program on a host. */
export class TcpHost implements AsyncDisposable {
  private constructor(readonly inner: InnerAddresses, readonly program: JsonProgram) {}

  /** Starts the program with the kernel's TCP. */
  static async startKernel(host: Host, inner: InnerAddresses): Promise<TcpHost> {
    const { program } = await (bundling ??= bundle());
    const command = [...program.command("node", { isPrivileged: true }), "kernel"];
    return new TcpHost(inner, await JsonProgram.start(host, command));
  }

  /** Starts the program with the sandbox peer's tunnel and TCP, without privileges. */
  static async startSandbox(
    host: Host,
    { inner, runtime, keys }: {
      readonly inner: InnerAddresses;
      readonly runtime: Runtime;
      readonly keys: KeyPair;
    },
  ): Promise<TcpHost> {
    const { program, lwip } = await (bundling ??= bundle());
    const command = program.command(runtime, { isPrivileged: false });
    const args = ["sandbox", keys.privateKey, lwip, ...Object.values(inner)];
    return new TcpHost(inner, await JsonProgram.start(host, [...command, ...args]));
  }

  tell<Answer = unknown>(command: Command): Promise<Answer> {
    return this.program.tell(command);
  }

  exchange(exchange: Exchange & Target): Promise<Exchanged> {
    return this.tell({ do: "exchange", ...exchange });
  }

  state(): Promise<State> {
    return this.tell({ do: "state" });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.program[Symbol.asyncDispose]();
  }
}

export { newKeyPair };

/** Lets a host with regular WireGuard reach another peer at this end of a path. */
export async function addPeer(
  peer: KernelPeer,
  { keys, inner, endpoint }: {
    readonly keys: KeyPair;
    readonly inner: InnerAddresses;
    /** Null if the other side sends first. */
    readonly endpoint: string | null;
  },
): Promise<void> {
  const networks = `${inner.ipv4}/32,${inner.ipv6}/128`;
  const where = endpoint === null ? [] : ["endpoint", endpoint];
  await peer.set("peer", keys.publicKey, "allowed-ips", networks, ...where);
}

export function channelTo(index: number, peer: KernelPeer): Channel {
  const { address, port } = peer.endpoint;
  return { leftPort: 4001 + 2 * index, rightPort: 4002 + 2 * index, right: { address, port } };
}

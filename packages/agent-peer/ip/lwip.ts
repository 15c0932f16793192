/** lwIP, compiled to WebAssembly by `deno task mesh:build`: what it exports and what it calls. */
import { formatAddress } from "./addresses.ts";

/** A connection's or listener's control block in lwIP's memory. 0 is none. */
export type Block = number;

/** What glue.c exports. Lengths and positions are in bytes. */
export interface Lwip {
  readonly memory: WebAssembly.Memory;
  start(mtu: number): void;
  /** The position of the buffer for the bytes of a call, or of its answer. */
  scratch(): number;
  set_address(length: number): void;
  input_buffer(length: number): number;
  input(): void;
  flush(): void;
  tick(): number;
  connect(id: number, addressLength: number, port: number): Block;
  listen(id: number, port: number, backlog: number): Block;
  unlisten(listener: Block): void;
  local_port(block: Block): number;
  write(block: Block, length: number): number;
  taken(block: Block, length: number): void;
  end(block: Block): void;
  close(block: Block): void;
  abort(block: Block): void;
}

/**
 * The functions that lwIP calls while one of its exports runs. They must not call an export that
 * changes anything.
 */
export interface Host extends WebAssembly.ModuleImports {
  random(): number;
  /** Milliseconds that never go back. */
  clock(): number;
  /** Takes packets, each preceded by its length in two bytes. */
  output(position: number, length: number): void;
  connected(id: number): void;
  /** The scratch has the remote address. Returns the connection's id, or 0 to refuse it. */
  accepted(listenerId: number, block: Block): number;
  received(id: number, position: number, length: number): void;
  /** The other side has ended its direction. `isOver`: both have, and lwIP keeps the block. */
  ended(id: number, isOver: number): void;
  sent(id: number, length: number): void;
  /** The connection is over, and its block is free. */
  failed(id: number, error: number): void;
}

/** The size of the scratch. */
export const SCRATCH_BYTES = 65536;

export async function instantiate(
  wasm: BufferSource | WebAssembly.Module,
  host: Host,
): Promise<Lwip> {
  const module = wasm instanceof WebAssembly.Module ? wasm : await WebAssembly.compile(wasm);
  const instance = await WebAssembly.instantiate(module, { host });
  return instance.exports as unknown as Lwip;
}

/** Takes an incoming packet. If there is no memory, it is lost. */
export function putPacket(lwip: Lwip, packet: Uint8Array): void {
  const position = lwip.input_buffer(packet.length);
  if (position === 0) return;
  new Uint8Array(lwip.memory.buffer, position).set(packet);
  lwip.input();
}

/** Puts bytes into the scratch. */
export function writeScratch(lwip: Lwip, bytes: Uint8Array): void {
  new Uint8Array(lwip.memory.buffer, lwip.scratch(), SCRATCH_BYTES).set(bytes);
}

/** A copy of bytes in lwIP's memory. */
export function bytesAt(lwip: Lwip, position: number, length: number): Uint8Array {
  return new Uint8Array(lwip.memory.buffer).slice(position, position + length);
}

/** Adds the packets of a batch, each preceded by its length in two bytes, to a list. */
export function splitPackets(batch: Uint8Array, packets: Uint8Array[]): void {
  for (let at = 0; at < batch.length;) {
    const length = (batch[at]! << 8) | batch[at + 1]!;
    packets.push(batch.subarray(at + 2, at + 2 + length));
    at += 2 + length;
  }
}

/** Reads the scratch of `accepted`: the length of an address, the address, and a port. */
export function readRemote(
  scratch: Uint8Array,
): { readonly remoteAddress: string; readonly remotePort: number } {
  const end = 1 + scratch[0]!;
  return {
    remoteAddress: formatAddress(scratch.subarray(1, end)),
    remotePort: scratch[end]! | (scratch[end + 1]! << 8),
  };
}

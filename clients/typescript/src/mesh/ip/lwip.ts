/** lwIP, compiled to WebAssembly by `deno task mesh:build`: what it exports and what it calls. */

/** A connection's or listener's control block in lwIP's memory. 0 is none. */
export type Block = number;

/** What glue.c exports. Lengths and positions are in bytes. */
export interface Lwip {
  readonly memory: WebAssembly.Memory;
  start(mtu: number): void;
  /** Where to put the bytes for a call, or to find those of an answer. */
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

/** What lwIP calls while one of its exports runs. None of these may call an export. */
export interface Host extends WebAssembly.ModuleImports {
  random(): number;
  /** Milliseconds that never go back. */
  clock(): number;
  /** Packets, each after its length in two bytes. */
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

/**
 * Records all input of lwIP for replay.c: the calls and, each in its own list, the host's answers
 * to lwIP's calls. Numbers are little-endian, of 32 bits except for clocks.
 */
import { writeFile } from "node:fs/promises";
import type { Block, Host, Lwip } from "../../../ip/lwip.ts";

/** The same codes as in replay.c. */
const CALL = {
  start: 1,
  setAddress: 2,
  input: 3,
  flush: 4,
  tick: 5,
  connect: 6,
  listen: 7,
  unlisten: 8,
  write: 9,
  taken: 10,
  end: 11,
  close: 12,
  abort: 13,
} as const;

/** Appends 32-bit numbers and bytes to a buffer that grows. */
class Bytes {
  #bytes = new Uint8Array(1 << 16);
  length = 0;

  add(bytes: Uint8Array): void {
    while (this.length + bytes.length > this.#bytes.length) {
      const larger = new Uint8Array(2 * this.#bytes.length);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  numbers(...numbers: readonly number[]): void {
    this.add(new Uint8Array(Uint32Array.from(numbers).buffer));
  }

  all(): Uint8Array {
    return this.#bytes.subarray(0, this.length);
  }
}

export class Recording {
  readonly #calls = new Bytes();
  readonly #randoms = new Bytes();
  readonly #clocks = new Bytes();
  readonly #accepted = new Bytes();
  /** The number of the control block at each address. A later block may reuse an address. */
  readonly #blocks = new Map<Block, number>();
  #blockCount = 0;

  /**
   * Records the next stack that is created in this process. Do not create another one until `stop`.
   */
  static begin(): { readonly recording: Recording; readonly stop: () => void } {
    const recording = new Recording();
    const { instantiate } = WebAssembly;
    // deno-lint-ignore no-explicit-any
    const webAssembly = WebAssembly as any;
    const stop = () => void (webAssembly.instantiate = instantiate);
    webAssembly.instantiate = async (module: WebAssembly.Module, { host }: { host: Host }) => {
      stop();
      const { exports } = await instantiate(module, { host: recording.#host(host) });
      return { exports: recording.#lwip(exports as unknown as Lwip) };
    };
    return { recording, stop };
  }

  /** The size in bytes of the recorded calls. */
  get size(): number {
    return this.#calls.length;
  }

  async save(file: string): Promise<void> {
    const parts = [this.#calls, this.#randoms, this.#clocks, this.#accepted];
    const head = new Bytes();
    head.numbers(...parts.map(({ length }) => length));
    const whole = new Bytes();
    for (const part of [head, ...parts]) whole.add(part.all());
    await writeFile(file, whole.all());
  }

  #host(host: Host): Host {
    return {
      ...host,
      random: () => {
        const number = host.random() >>> 0;
        this.#randoms.numbers(number);
        return number;
      },
      clock: () => {
        const time = host.clock();
        this.#clocks.add(new Uint8Array(Float64Array.of(time).buffer));
        return time;
      },
      accepted: (listener, block) => {
        const id = host.accepted(listener, block);
        this.#accepted.numbers(id);
        this.#remember(block);
        return id;
      },
    };
  }

  #remember(block: Block): void {
    this.#blocks.set(block, this.#blockCount++);
  }

  #lwip(lwip: Lwip): Lwip {
    const calls = this.#calls;
    const scratch = (length: number) =>
      new Uint8Array(lwip.memory.buffer, lwip.scratch(), length).slice();
    const call = (code: number, ...numbers: readonly number[]) => calls.numbers(code, ...numbers);
    const blockOf = (block: Block) => this.#blocks.get(block)!;
    let incoming = { position: 0, length: 0 };
    return {
      memory: lwip.memory,
      scratch: lwip.scratch,
      local_port: lwip.local_port,
      start: (mtu) => {
        call(CALL.start, mtu);
        lwip.start(mtu);
      },
      set_address: (length) => {
        call(CALL.setAddress, length);
        calls.add(scratch(length));
        lwip.set_address(length);
      },
      input_buffer: (length) => {
        const position = lwip.input_buffer(length);
        incoming = { position, length };
        return position;
      },
      input: () => {
        const { position, length } = incoming;
        call(CALL.input, length);
        calls.add(new Uint8Array(lwip.memory.buffer, position, length));
        lwip.input();
      },
      flush: () => {
        call(CALL.flush);
        lwip.flush();
      },
      tick: () => {
        call(CALL.tick);
        return lwip.tick();
      },
      connect: (id, length, port) => {
        call(CALL.connect, id, length, port);
        calls.add(scratch(length));
        const block = lwip.connect(id, length, port);
        this.#remember(block);
        return block;
      },
      listen: (id, port, backlog) => {
        call(CALL.listen, id, port, backlog);
        const block = lwip.listen(id, port, backlog);
        this.#remember(block);
        return block;
      },
      unlisten: (block) => {
        call(CALL.unlisten, blockOf(block));
        lwip.unlisten(block);
      },
      write: (block, length) => {
        call(CALL.write, blockOf(block), length);
        return lwip.write(block, length);
      },
      taken: (block, length) => {
        call(CALL.taken, blockOf(block), length);
        lwip.taken(block, length);
      },
      end: (block) => {
        call(CALL.end, blockOf(block));
        lwip.end(block);
      },
      close: (block) => {
        call(CALL.close, blockOf(block));
        lwip.close(block);
      },
      abort: (block) => {
        call(CALL.abort, blockOf(block));
        lwip.abort(block);
      },
    };
  }
}

/** Two stacks that talk over many connections, while the packets between them are damaged. */
import { PacketFilter } from "../../../ip/filter/packet_filter.ts";
import { IpStack } from "../../../ip/ip_stack.ts";
import { readLwip } from "../../../ip/read_lwip.ts";
import { randomFrom } from "../emulated_link.ts";
import { CLIENT, SERVER } from "../stacks.ts";
import { readText, writeText } from "../transfer.ts";
import { below, mutate, type Random } from "./mutations.ts";
import { Recording } from "./recording.ts";

const AT_ONCE = 100;
const PORT = 80;

export interface StormResult {
  /** The number of damaged packets, and how many of these passed the filter, if there is one. */
  readonly damaged: number;
  readonly passed: number;
  /** Connections that ended in order in spite of the damage. */
  readonly finished: number;
  readonly failures: readonly Error[];
  /** The memory of both stacks in bytes, after the first half and at the end. */
  readonly memory: readonly [number, number];
}

interface Side {
  readonly stack: IpStack;
  readonly filter: PacketFilter;
}

export class Storm {
  readonly #random: Random;
  readonly #isFiltered: boolean;
  readonly #failures: Error[] = [];
  #queue: { readonly to: number; readonly packet: Uint8Array }[] = [];
  #sides: Side[] = [];
  #damaged = 0;
  #passed = 0;
  #finished = 0;
  #isOver = false;
  /** No more damage, to check that the stacks still work. */
  #isCalm = false;

  private constructor({ seed, isFiltered }: { seed: number; isFiltered: boolean }) {
    this.#random = randomFrom(seed);
    this.#isFiltered = isFiltered;
  }

  static async run(
    { seed, packets, isFiltered, recordTo = null }: {
      readonly seed: number;
      readonly packets: number;
      /** A file for the recorded input of one stack: see `Recording`. */
      readonly recordTo?: string | null;
      /** Whether incoming packets pass the filter before the stack gets them. */
      readonly isFiltered: boolean;
    },
  ): Promise<StormResult> {
    const storm = new Storm({ seed, isFiltered });
    const wasm = await readLwip();
    const recorded = recordTo === null ? null : Recording.begin();
    storm.#sides = [await storm.#open(0, wasm)];
    recorded?.stop();
    storm.#sides.push(await storm.#open(1, wasm));
    const talking = Array.from({ length: AT_ONCE }, (_, index) => storm.#talk(index));
    await storm.#deliver(() => storm.#damaged >= packets / 2);
    const before = storm.#memory();
    await storm.#deliver(() => storm.#damaged >= packets);
    const memory = [before, storm.#memory()] as const;
    storm.#isOver = true;
    storm.#isCalm = true;
    for (const { stack } of storm.#sides) stack.reset(() => true);
    await Promise.all(talking);
    await storm.#checkThatAllWorks();
    for (const { stack } of storm.#sides) stack.close();
    await recorded?.recording.save(recordTo!);
    return {
      damaged: storm.#damaged,
      passed: storm.#passed,
      finished: storm.#finished,
      failures: storm.#failures,
      memory,
    };
  }

  async #open(index: number, wasm: WebAssembly.Module): Promise<Side> {
    const [own, other] = index === 0 ? [CLIENT, SERVER] : [SERVER, CLIENT];
    const filter = new PacketFilter({
      addresses: Object.values(own),
      peers: [{ addresses: Object.values(other), inbound: [PORT], outbound: [PORT] }],
    });
    const stack = await IpStack.create({
      wasm,
      addresses: Object.values(own),
      onOutput: (packets) => {
        for (const packet of packets) {
          if (this.#isFiltered && !filter.sends(packet)) continue;
          this.#queue.push({ to: 1 - index, packet });
        }
      },
      onFailure: (error) => this.#failures.push(error),
    });
    stack.listen(PORT, async (connection) => {
      for (let bytes; (bytes = await connection.read()) !== null;) await connection.write(bytes);
      await connection.end();
    });
    return { stack, filter };
  }

  #memory(): number {
    return this.#sides.reduce((sum, { stack }) => sum + stack.memoryBytes, 0);
  }

  /** Opens connections, one after the other, and ends them in every way. */
  async #talk(number: number): Promise<void> {
    const random = randomFrom(number + 1000);
    while (!this.#isOver) {
      const { stack } = this.#sides[below(random, 2)]!;
      const [ipv4, ipv6] = Object.values(stack === this.#sides[0]!.stack ? SERVER : CLIENT);
      try {
        const address = (random() < 0.5 ? ipv4 : ipv6)!;
        const connection = await stack.connect({ address, port: random() < 0.95 ? PORT : 81 });
        const limit = setTimeout(() => connection.abort(), 200 + below(random, 2000));
        try {
          await connection.write(new Uint8Array(below(random, 20_000)));
          const ending = random();
          if (ending < 0.6) await connection.end();
          else if (ending < 0.8) connection.close();
          else if (ending < 0.9) connection.abort();
          while (await connection.read() !== null);
          this.#finished += 1;
        } finally {
          clearTimeout(limit);
          connection.abort();
        }
      } catch {
        // A damaged connection may fail in any way, as long as the stack works.
      }
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  }

  async #deliver(isEnough: () => boolean): Promise<void> {
    while (!isEnough() && this.#failures.length === 0) {
      for (const { to, packet } of this.#queue.splice(0, 500)) this.#deliverOne(to, packet);
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  }

  #deliverOne(to: number, packet: Uint8Array): void {
    const random = this.#random;
    const choice = this.#isCalm ? 1 : random();
    // The packet is lost, replaced by a damaged copy, or delivered with or without a damaged copy
    // before or after it.
    if (choice < 0.02) return;
    if (choice < 0.1) return this.#inject(to, packet);
    if (choice < 0.3) this.#inject(to, packet);
    this.#input(to, packet);
    if (choice > 0.3 && choice < 0.6) this.#inject(to, packet);
  }

  #inject(to: number, packet: Uint8Array): void {
    const times = 1 + below(this.#random, 3);
    for (let time = 0; time < times; time++) {
      this.#damaged += 1;
      if (this.#input(to, mutate(packet, this.#random))) this.#passed += 1;
    }
  }

  #input(to: number, packet: Uint8Array): boolean {
    const { stack, filter } = this.#sides[to]!;
    if (this.#isFiltered && !filter.allows(packet)) return false;
    stack.input(packet);
    return true;
  }

  async #checkThatAllWorks(): Promise<void> {
    let isDone = false;
    const asking = (async () => {
      for (const [index, { ipv4, ipv6 }] of [SERVER, CLIENT].entries()) {
        for (const address of [ipv4, ipv6]) {
          const { stack } = this.#sides[index]!;
          const connection = await stack.connect({ address, port: PORT });
          await writeText(connection, "still here");
          await connection.end();
          const text = await readText(connection);
          if (text !== "still here") throw new Error(`The echo was ${JSON.stringify(text)}.`);
        }
      }
    })().catch((error) => void this.#failures.push(error)).finally(() => isDone = true);
    await this.#deliver(() => isDone);
    await asking;
  }
}

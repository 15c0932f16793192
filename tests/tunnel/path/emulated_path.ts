import { fileURLToPath } from "node:url";
import { run } from "../../wireguard/hosts/run_program.ts";
import type { Host } from "../../wireguard/hosts/host.ts";
import { JsonProgram } from "../hosts/json_program.ts";

const SOURCE = fileURLToPath(new URL("./emulated_path.c", import.meta.url));

export interface PathOptions {
  /** The round-trip time in milliseconds. */
  readonly roundTripMs?: number;
  /**
   * Shares of each direction's datagrams, from 0 to 1, for `loss`, `reordering` and `duplication`.
   */
  readonly loss?: number;
  readonly reordering?: number;
  readonly duplication?: number;
  /** The limit of each direction. Default: no limit. */
  readonly bottleneck?: { readonly mbits: number; readonly queueBytes: number };
  readonly seed?: number;
}

/** A pair of hosts that can reach each other only through the path. */
export interface Channel {
  readonly leftPort: number;
  readonly rightPort: number;
  readonly right: { readonly address: string; readonly port: number };
}

export interface PathCounters {
  /** Datagrams to the right and to the left. */
  readonly sent: readonly [number, number];
  readonly dropped: readonly [number, number];
}

let compiling: Promise<string> | null = null;

/** Emulates an internet path on a host, with a program that is compiled on this machine. */
export class EmulatedPath implements AsyncDisposable {
  readonly #program: JsonProgram;

  private constructor(program: JsonProgram) {
    this.#program = program;
  }

  static async start(
    host: Host,
    channels: readonly Channel[],
    options: PathOptions = {},
  ): Promise<EmulatedPath> {
    const { roundTripMs = 0, loss = 0, reordering = 0, duplication = 0, bottleneck } = options;
    const numbers = [
      roundTripMs * 500,
      ...[loss, reordering, duplication].map((share) => share * 1_000_000),
      (bottleneck?.mbits ?? 0) * 1000,
      bottleneck?.queueBytes ?? 0,
      options.seed ?? 1,
    ];
    const ports = channels.flatMap(({ leftPort, rightPort, right }) => [
      leftPort,
      rightPort,
      right.address,
      right.port,
    ]);
    const args = [...numbers.map(Math.round), ...ports].map(String);
    compiling ??= compile();
    return new EmulatedPath(await JsonProgram.start(host, [await compiling, ...args]));
  }

  counters(): Promise<PathCounters> {
    return this.#program.tell("counters");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#program[Symbol.asyncDispose]();
  }
}

async function compile(): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "emulated-path-" });
  globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
  const program = `${folder}/emulated_path`;
  await run(["gcc", "-O2", "-Wall", "-Werror", "-o", program, SOURCE]);
  return program;
}

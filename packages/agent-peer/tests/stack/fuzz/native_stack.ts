import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  OWN_SOURCES,
  prepareSources,
  readArchive,
  SOURCES,
} from "../../../../../dev/mesh/lwip_source.ts";
import { run } from "../../../../../tests/wireguard/hosts/run_program.ts";

const REPLAY = fileURLToPath(new URL("./replay.c", import.meta.url));

const FLAGS = [
  "-std=gnu99",
  "-O1",
  "-g",
  "-w",
  "-Iown",
  "-Isrc/include",
  // A finding ends the program. The shift check is off: lwIP shifts a byte into the sign bit of an
  // int, which every compiler that it supports handles as intended.
  "-fsanitize=address,undefined",
  "-fno-sanitize=shift",
  "-fno-sanitize-recover=all",
  "--coverage",
];

export interface Line {
  readonly number: number;
  readonly text: string;
  readonly ran: boolean;
}

/**
 * lwIP with our glue, compiled for this machine with sanitizers and line counts. Sanitizers find
 * errors that WebAssembly's sandbox would hide.
 */
export class NativeStack implements AsyncDisposable {
  private constructor(readonly folder: string) {}

  static async compile(): Promise<NativeStack> {
    const folder = await mkdtemp(join(tmpdir(), "agent-mesh-native-"));
    for (const [path, bytes] of await prepareSources(await readArchive(null))) {
      await mkdir(join(folder, dirname(path)), { recursive: true });
      await writeFile(join(folder, path), bytes);
    }
    await copyFile(REPLAY, join(folder, "own/replay.c"));
    const files = [...OWN_SOURCES, "own/replay.c", ...SOURCES];
    await run(["sh", "-c", `cd ${folder} && gcc ${[...FLAGS, ...files].join(" ")} -o replay`]);
    return new NativeStack(folder);
  }

  /**
   * Replays a recording. Resolves to the number of calls, and rejects with a sanitizer's finding.
   */
  async replay(recording: string): Promise<number> {
    // Memory that is still in use at the end of a recording is never freed, so leaks are not
    // checked.
    const options = ["ASAN_OPTIONS=detect_leaks=0", "UBSAN_OPTIONS=print_stacktrace=1"];
    return Number(await run(["env", ...options, join(this.folder, "replay"), recording]));
  }

  /** The lines of a source file that contain code, with their counts after all replays. */
  async lines(file: string): Promise<Line[]> {
    const name = file.split("/").at(-1)!;
    const counts = `replay-${name.replace(/\.c$/, "")}.gcda`;
    const report = await run([
      "sh",
      "-c",
      `cd ${this.folder} && gcov --stdout ${counts}`,
    ]);
    return report.split("\n").flatMap((row) => {
      const [, count, number, text] = /^ *([^:]+): *(\d+):(.*)$/.exec(row) ?? [];
      if (count === undefined || count === "-" || number === "0") return [];
      return [{ number: Number(number), text: text!, ran: !/^[#=]/.test(count) }];
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}

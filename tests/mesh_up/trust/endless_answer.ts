import { run } from "../../wireguard/hosts/run_program.ts";
import type { Host } from "../../wireguard/hosts/host.ts";

const MIB = 2 ** 20;

/** How many bytes of an answer the agents read at most. */
export const LONGEST_ANSWER_BYTES = 16 * MIB;

/**
 * An answer that is valid JSON if it is read to its end. It ends after four times as many bytes as
 * the agents read, because no test should fill a disk.
 */
export function endlessAnswer(status: number): Response {
  const start = new TextEncoder().encode('{"config_version": 1}');
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(sent === 0 ? start : new Uint8Array(MIB).fill(0x20));
      sent += MIB;
      if (sent > 4 * LONGEST_ANSWER_BYTES) controller.close();
    },
  });
  return new Response(body, { status, headers: { "content-type": "application/json" } });
}

/** The size in bytes of the largest file that the host's programs write. */
export async function largestFile({ directory, wireguardDirectory }: Host): Promise<number> {
  // Such programs also remove and rename files meanwhile.
  const command = ["find", directory, wireguardDirectory, "-ignore_readdir_race"];
  const files = [...command, "-type", "f", "-printf", "%s\\n"];
  return Math.max(...(await run(files)).trim().split("\n").map(Number));
}

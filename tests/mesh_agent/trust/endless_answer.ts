import { run } from "../../wireguard/hosts/command.ts";
import type { Host } from "../../wireguard/hosts/host.ts";

const MIB = 2 ** 20;

/** What the agents take of an answer at most. */
export const LONGEST_ANSWER_BYTES = 16 * MIB;

/**
 * JSON for those who read it to its end. It has one, because no test should fill a disk: after
 * four times as much as the agents take.
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

/** In bytes, of all files that the host's programs write to. */
export async function largestFile({ directory, wireguardDirectory }: Host): Promise<number> {
  const files = ["find", directory, wireguardDirectory, "-type", "f", "-printf", "%s\\n"];
  return Math.max(...(await run(files)).trim().split("\n").map(Number));
}

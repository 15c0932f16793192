/**
 * The cost of bytes: /commit beside a download of the same bytes, and beside sha256sum of a file.
 */
import { rm } from "node:fs/promises";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { cpuTime } from "../load/cpu.ts";
import { load } from "../load/load.ts";
import { median, milliseconds } from "../load/timing.ts";
import { HOARDER } from "../fill/cast.ts";
import { addUploaded } from "./fresh_rows.ts";
import { type FilledStack, freshNumbers, requestsOf } from "./operations.ts";
import { ARTIFACT_OPERATIONS } from "./artifact_operations.ts";

const MEBIBYTE = 1024 ** 2;

/** In milliseconds, as medians of the turns. */
export interface Bytes {
  readonly mebibytes: number;
  readonly commit: number;
  /** The function's CPU time for the commit. */
  readonly commitCpu: number;
  readonly download: number;
  readonly sha256sum: number;
  /** The time of /commit divided by the time of the download: the median of the turns. */
  readonly ofDownload: number;
  /** The time of /commit of 1 KiB divided by the time of /open. */
  readonly smallCommitOfOpen: number;
}

export async function measureBytes(
  filled: FilledStack,
  { mebibytes, turns }: { readonly mebibytes: number; readonly turns: number },
): Promise<Bytes> {
  const bytes = new Uint8Array(mebibytes * MEBIBYTE).fill(7);
  const digest = createHash("sha256").update(bytes).digest("hex");
  const directory = await Deno.makeTempDir({ prefix: "agent-mesh-bytes-" });
  const file = join(directory, "bytes");
  await Deno.writeFile(file, bytes);
  try {
    const commits: number[] = [];
    const cpu: number[] = [];
    const downloads: number[] = [];
    const sums: number[] = [];
    for (let turn = 0; turn <= turns; turn++) {
      const [artifact_id] = await addUploaded(filled, freshNumbers(1), bytes);
      const { before, elapsed, after } = await commitOf(filled, { artifact_id, sha256: digest });
      const download = await downloadOf(filled, artifact_id!);
      const sum = await milliseconds(() =>
        new Deno.Command("sha256sum", { args: [file], stdout: "null" }).output()
      );
      // The first turn only fills caches.
      if (turn === 0) continue;
      commits.push(elapsed);
      cpu.push(after - before);
      downloads.push(download);
      sums.push(sum);
    }
    return {
      mebibytes,
      commit: median(commits),
      commitCpu: median(cpu),
      download: median(downloads),
      sha256sum: median(sums),
      ofDownload: median(commits.map((commit, turn) => commit / downloads[turn]!)),
      smallCommitOfOpen: await smallCommitOfOpen(filled, turns),
    };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function commitOf({ stack }: FilledStack, body: object) {
  const before = (await cpuTime(stack, "agent-artifacts")).function;
  const { p50: elapsed } = await load(stack.url, [
    { path: "/agent-artifacts/commit", headers: { apikey: stack.secretKey }, body },
  ], 1);
  return { before, elapsed, after: (await cpuTime(stack, "agent-artifacts")).function };
}

/** Times the download alone: the URL is signed before. */
async function downloadOf({ stack }: FilledStack, artifact_id: string): Promise<number> {
  const response = await fetch(`${stack.url}/functions/v1/agent-artifacts/open`, {
    method: "POST",
    headers: { apikey: stack.secretKey },
    body: JSON.stringify({ artifact_id, agent_id: HOARDER }),
  });
  const { url } = await response.json();
  return await milliseconds(async () => {
    const download = await fetch(url);
    if (!download.ok) throw new Error(`The download was refused: ${download.status}`);
    for await (const _chunk of download.body!) {
      // Read the bytes and drop them.
    }
  });
}

async function smallCommitOfOpen(filled: FilledStack, turns: number): Promise<number> {
  const [commit, open] = ["/commit of 1 KiB", "/open"].map((wanted) =>
    ARTIFACT_OPERATIONS.find(({ name }) => name === wanted)!
  );
  const ratios: number[] = [];
  for (let turn = 0; turn < turns; turn++) {
    const times: number[] = [];
    for (const operation of [commit!, open!]) {
      const requests = requestsOf(filled, operation, await operation.calls(filled, 40));
      times.push((await load(filled.stack.url, requests, 1)).p50);
    }
    ratios.push(times[0]! / times[1]!);
  }
  return median(ratios);
}

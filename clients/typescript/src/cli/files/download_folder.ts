import { lstat, mkdir, open, realpath } from "node:fs/promises";
import { basename, dirname, join, sep } from "node:path";
import type { AgentFiles } from "../../agent_files.ts";
import type { InboxEntry } from "../../contract/types.ts";
import { createSha256 } from "../../platform/sha256.ts";
import type { Progress } from "../../transfer/put.ts";
import { nameWith, safeName, safeSegments } from "./safe_path.ts";
import { save } from "./save.ts";

const CHUNK_BYTES = 64 * 1024;

/** What became of a grant in the folder. */
export interface Downloaded {
  readonly path: string;
  /** False: the file was there already, with the same bytes. */
  readonly isNew: boolean;
}

/**
 * Downloads what was granted to `<folder>/<agent>/<key>`. A file that is there is never touched:
 * where it has other bytes, the download gets another name.
 */
export async function downloadGrant(
  files: AgentFiles,
  grant: InboxEntry,
  { folder, onProgress }: {
    readonly folder: string;
    readonly onProgress: (progress: Progress) => void;
  },
): Promise<Downloaded> {
  await mkdir(folder, { recursive: true });
  for (const path of candidates(folder, grant)) {
    const state = await stateOf(path, grant, folder);
    if (state === "same") return { path, isNew: false };
    if (state === "taken") continue;
    const got = await files.get({ artifactId: grant.artifact_id }, { onProgress });
    try {
      await save(got, path);
      return { path, isNew: true };
    } catch (error) {
      // Another process was faster. If that had the same bytes, the next look finds them.
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      if (await stateOf(path, grant, folder) === "same") return { path, isNew: false };
    }
  }
  throw new Error(`${grant.artifact_id} finds no free name in ${folder}.`);
}

/** The names to try: the key's, the key's with a mark of the artifact, the artifact's. */
function candidates(folder: string, { from_agent, key, artifact_id }: InboxEntry): string[] {
  const agentFolder = join(folder, safeName(from_agent));
  const path = join(agentFolder, ...safeSegments(key));
  const mark = artifact_id.replace(/^art_/, "").slice(0, 8);
  return [
    path,
    join(dirname(path), nameWith(basename(path), safeName(mark))),
    join(agentFolder, safeName(artifact_id)),
  ];
}

/** Whether a path can be written, holds these bytes, or cannot be had. Makes its folder. */
async function stateOf(
  path: string,
  { size, sha256 }: InboxEntry,
  folder: string,
): Promise<"free" | "same" | "taken"> {
  try {
    await mkdir(dirname(path), { recursive: true });
    // A link somewhere on the way may lead out.
    const [within, parent] = await Promise.all([realpath(folder), realpath(dirname(path))]);
    if (!(parent + sep).startsWith(within.endsWith(sep) ? within : within + sep)) return "taken";
    const state = await lstat(path);
    if (!state.isFile() || state.size !== size) return "taken";
    return await sha256OfFile(path) === sha256 ? "same" : "taken";
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return "free";
    // A file where a folder would be, a folder where the file would be, or too long a name.
    if (["ENOTDIR", "EEXIST", "EISDIR", "ENAMETOOLONG", "EINVAL"].includes(code)) return "taken";
    throw error;
  }
}

async function sha256OfFile(path: string): Promise<string> {
  const hash = await createSha256();
  const file = await open(path);
  const buffer = new Uint8Array(CHUNK_BYTES);
  try {
    while (true) {
      const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES);
      if (bytesRead === 0) return hash.digest();
      hash.update(buffer.subarray(0, bytesRead));
    }
  } finally {
    await file.close();
  }
}

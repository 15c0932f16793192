import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { lstat, open, readdir, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { AgentFiles } from "../../agent-files/agent_files.ts";
import type { InboxEntry } from "../../agent-files/contract/types.ts";
import { createSha256 } from "../../agent-files/platform/sha256.ts";
import type { GetOptions } from "../../agent-files/transfer/get.ts";
import { parseArtifactId } from "../../agent-files/transfer/target.ts";
import { inBytes } from "../../command/terminal/output.ts";
import { HeldFolder } from "./held_folder.ts";
import { agentFolderName, nameWith, safeSegments } from "./safe_path.ts";
import { save } from "./save.ts";

const CHUNK_BYTES = 64 * 1024;

/** The file of a grant, once it is in the folder. */
export interface Downloaded {
  readonly path: string;
  /** False: the file was there already, with the same bytes. */
  readonly isNew: boolean;
}

/** A possible place for a file, inside its sender's folder. */
interface Candidate {
  readonly folders: readonly string[];
  readonly name: string;
}

/**
 * Downloads a granted file to `<folder>/<agent>/<key>`. Never changes an existing file: if it has
 * other bytes, the download gets another name. Requests the file only when a name and enough space
 * are found, because the request may use up the only download that the grant allows.
 */
export async function downloadGrant(
  files: AgentFiles,
  grant: InboxEntry,
  { folder, ...options }: { readonly folder: string } & GetOptions,
): Promise<Downloaded> {
  const artifact_id = parseArtifactId(grant.artifact_id);
  await using root = await HeldFolder.open(folder);
  const agent = agentFolderName(grant.from_agent);
  await using own = await root.enter(agent).catch((error) => {
    throw noFreeName(folder, error);
  });
  let obstacle: unknown = null;
  const meet = (error: unknown) => {
    obstacle = error;
    return null;
  };
  for await (
    const { folders: [first, ...rest], name } of candidates(own, grant)
  ) {
    await using inner = first === undefined ? null : await own.enter(first, ...rest).catch(meet);
    if (first !== undefined && inner === null) continue;
    const place = inner ?? own;
    const [path, shown] = [join(place.path, name), join(place.name, name)];
    const state = await stateOf(path, grant).catch(meet);
    if (state === "same") return { path: shown, isNew: false };
    if (state !== "free") continue;
    await assertRoom(place, grant.size);
    try {
      await save({
        body: bytesOf(files, artifact_id, options),
        artifact: { artifact_id },
      }, path);
      return { path: shown, isNew: true };
    } catch (error) {
      // Another process took the name first. If its file has other bytes, try the next name.
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      if (await stateOf(path, grant) === "same") {
        return { path: shown, isNew: false };
      }
    }
  }
  throw noFreeName(own.name, obstacle);
}

function noFreeName(folder: string, cause: unknown): Error {
  const because = cause instanceof Error ? `: ${cause.message}` : ".";
  return new Error(`No free file name in ${folder}${because}`, { cause });
}

/**
 * The names to try: the key, the key with part of the artifact id, the artifact id. The sender's
 * earlier files can occupy all of these, so the last name has a random suffix, which a sender
 * cannot predict. Files that an earlier run named like this are found by their prefix.
 */
async function* candidates(
  own: HeldFolder,
  { key, artifact_id }: InboxEntry,
): AsyncGenerator<Candidate, void, undefined> {
  const folders = safeSegments(key);
  const name = folders.pop()!;
  yield { folders, name };
  yield {
    folders,
    name: nameWith(name, artifact_id.replace(/^art_/, "").slice(0, 8)),
  };
  yield { folders: [], name: artifact_id };
  for (const found of await readdir(own.path)) {
    if (found.startsWith(`${artifact_id}.`)) yield { folders: [], name: found };
  }
  yield {
    folders: [],
    name: `${artifact_id}.${randomBytes(8).toString("hex")}`,
  };
}

/** Whether a path is free, has a file with the same bytes, or is taken by something else. */
async function stateOf(
  path: string,
  { size, sha256 }: InboxEntry,
): Promise<"free" | "same" | "taken"> {
  try {
    const state = await lstat(path);
    if (!state.isFile() || state.size !== size) return "taken";
    return await sha256OfFile(path) === sha256 ? "same" : "taken";
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "free";
    throw error;
  }
}

async function sha256OfFile(path: string): Promise<string> {
  const hash = await createSha256();
  // O_NONBLOCK: do not wait for the writer of a named pipe. Windows lacks the last two flags.
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
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

/** Throws if the file system reports less free space than `size`, in bytes. */
async function assertRoom(
  { path, name }: HeldFolder,
  size: number,
): Promise<void> {
  const { blocks, bavail, bsize } = await statfs(path).catch(() => ({
    // If the free space is unknown, refuse nothing. Some network file systems report 0 blocks.
    blocks: 0,
    bavail: 0,
    bsize: 0,
  }));
  if (blocks === 0 || bavail * bsize >= size) return;
  throw new Error(
    `${name} does not have ${inBytes(size)} of free space. Make room.`,
  );
}

/** The verified bytes. Requests the file when the first byte is read. */
async function* bytesOf(
  files: AgentFiles,
  artifactId: string,
  options: GetOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { body } = await files.get({ artifactId }, options);
  yield* body as unknown as AsyncIterable<Uint8Array>;
}

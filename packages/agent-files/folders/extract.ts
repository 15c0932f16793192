import { AgentError } from "../errors/agent_error.ts";
import type { ByteStream } from "../transfer/source.ts";
import { type Platform, segmentsOf } from "./entry_path.ts";
import { type NodeModules, nodeModules } from "./node.ts";
import { listingName } from "./packed.ts";
import { readTar, type TarEntry } from "./tar/read_tar.ts";
import { refusal } from "./tar/refusal.ts";
import { Tree } from "./tree.ts";

export interface ExtractOptions {
  /** The committed size of the archive. No entry may be larger. */
  readonly size: number;
  /** Whether `put` has packed the archive: a listing, and one folder, which becomes the target. */
  readonly isPacked: boolean;
  /** How many files and folders there may be. Default: 200,000. */
  readonly maxEntries?: number | undefined;
  /** Default: the current platform. */
  readonly platform?: Platform | undefined;
}

const MAX_ENTRIES = 200_000;
const BLOCK_BYTES = 512;
/** How many folders may lack an entry of their own: some programs leave folders out. */
const UNLISTED_FOLDERS = 1000;

/**
 * Extracts a tar to the new folder `target`. Extracts to a temporary folder beside it, and renames
 * that once the stream has ended without an error. Resolves to the number of files and folders.
 * Throws `archive_refused`, `target_exists` or the stream's error; then nothing is left behind.
 */
export async function extractTar(
  stream: ByteStream,
  target: string,
  options: ExtractOptions,
): Promise<number> {
  const node = await nodeModules();
  const { fs, path } = node;
  await assertFree(node, target);
  const temporary = await fs.mkdtemp(
    path.join(path.dirname(target), ".agent-"),
  );
  try {
    const count = await extractInto(node, stream, temporary, options);
    await publish(node, temporary, target);
    return count;
  } catch (error) {
    await fs.rm(temporary, { recursive: true, force: true });
    throw error;
  }
}

/** Throws `target_exists` if anything is at the path, even a dangling link. */
export async function assertFree(
  { fs }: NodeModules,
  target: string,
): Promise<void> {
  if (await fs.lstat(target).then(() => true, isMissing)) {
    throw targetExists(target);
  }
}

function isMissing(error: NodeJS.ErrnoException): boolean {
  if (error.code === "ENOENT") return false;
  throw error;
}

async function extractInto(
  node: NodeModules,
  stream: ByteStream,
  folder: string,
  { size, isPacked, platform = node.process.platform as Platform, ...options }: ExtractOptions,
): Promise<number> {
  const most = Math.min(
    options.maxEntries ?? MAX_ENTRIES,
    UNLISTED_FOLDERS + Math.ceil(size / BLOCK_BYTES),
  );
  const tree = new Tree({ platform: platformOf(platform), maxEntries: most });
  const layout = isPacked ? new PackedLayout() : null;
  for await (const entry of readTar(stream)) {
    if (entry.size > size) {
      throw refusal(entry.name, "is larger than the archive");
    }
    const all = segmentsOf(entry.name, platformOf(platform));
    const segments = layout === null ? all : layout.below(entry, all);
    if (segments === null) continue;
    const place = tree.add(entry.name, segments, entry.isDirectory);
    for (const made of place.folders) {
      await makeFolder(node, folder, made, entry.name);
    }
    if (!entry.isDirectory) await writeFile(node, folder, place.path, entry);
    else if (!place.isThere) {
      await makeFolder(node, folder, place.path, entry.name);
    }
  }
  layout?.assertComplete();
  return tree.size;
}

function platformOf(platform: string): Platform {
  return platform === "win32" || platform === "darwin" ? platform : "linux";
}

/** Checks the layout of a folder that `put` packed: `<folder>.listing.tsv`, then `<folder>/…`. */
class PackedLayout {
  #first: string | null = null;
  #folder: string | null = null;

  /** The names below the folder; null for the listing. */
  below(
    { name, isDirectory }: TarEntry,
    [first = "", ...rest]: readonly string[],
  ) {
    if (this.#first === null) {
      this.#first = first;
      if (isDirectory || rest.length > 0) {
        throw refusal(name, "is not a packed folder's listing");
      }
      return null;
    }
    if (this.#folder === null) {
      const fits = isDirectory && rest.length === 0 &&
        listingName(first) === this.#first;
      if (!fits) throw refusal(name, "is not the packed folder");
      this.#folder = first;
    } else if (first !== this.#folder || rest.length === 0) {
      throw refusal(name, "is not in the packed folder");
    }
    return rest;
  }

  assertComplete(): void {
    if (this.#folder === null) throw refusal(null, "has no packed folder");
  }
}

async function makeFolder(
  { fs, path }: NodeModules,
  folder: string,
  name: string,
  entry: string,
): Promise<void> {
  await fs.mkdir(path.join(folder, ...name.split("/"))).catch((error) => {
    throw refusedByDisk(error, entry);
  });
}

async function writeFile(
  { fs, path }: NodeModules,
  folder: string,
  name: string,
  { name: entry, isExecutable, body }: TarEntry,
): Promise<void> {
  const mode = isExecutable ? 0o777 : 0o666;
  // `wx` overwrites no file. The path has no links: the folder is new, and no links are extracted.
  const file = await fs.open(path.join(folder, ...name.split("/")), "wx", mode)
    .catch((error) => {
      throw refusedByDisk(error, entry);
    });
  try {
    for await (const bytes of body) {
      for (let written = 0; written < bytes.byteLength;) {
        written += (await file.write(bytes, written, bytes.byteLength - written))
          .bytesWritten;
      }
    }
  } finally {
    await file.close();
  }
}

/** On every platform, a file system may treat two names as the same. */
function refusedByDisk(error: NodeJS.ErrnoException, entry: string): unknown {
  if (error.code === "EEXIST") {
    return refusal(entry, "has the same name as another entry on this system");
  }
  if (error.code === "ENAMETOOLONG") {
    return refusal(entry, "has too long a name");
  }
  return error;
}

/**
 * Renames the folder to `target`. Creates an empty folder there first, which fails if it exists.
 */
async function publish(
  { fs, process }: NodeModules,
  temporary: string,
  target: string,
) {
  await fs.mkdir(target).catch((error) => {
    throw error.code === "EEXIST" ? targetExists(target) : error;
  });
  try {
    // Use the mode that the user's umask gave `target`: the temporary folder is private.
    await fs.chmod(temporary, (await fs.lstat(target)).mode & 0o777);
    // Windows cannot rename onto a folder, not even an empty one.
    if (process.platform === "win32") await fs.rmdir(target);
    await fs.rename(temporary, target);
  } catch (error) {
    await fs.rmdir(target).catch(() => {});
    const { code } = error as NodeJS.ErrnoException;
    throw code === "ENOTEMPTY" || code === "EEXIST" ? targetExists(target) : error;
  }
}

function targetExists(target: string): AgentError {
  return new AgentError({
    code: "target_exists",
    message: `${target} already exists. A folder is only extracted to a new path.`,
  });
}

import { AgentError } from "../errors/agent_error.ts";
import type { ByteStream } from "../transfer/source.ts";
import { type Platform, segmentsOf } from "./entry_path.ts";
import { type NodeModules, nodeModules } from "./node.ts";
import { listingName } from "./packed.ts";
import { readTar, type TarEntry } from "./tar/read_tar.ts";
import { refusal } from "./tar/refusal.ts";
import { Tree } from "./tree.ts";

export interface ExtractOptions {
  /** The committed size: nothing in the archive is larger. */
  readonly size: number;
  /** Whether `put` has packed it: a listing, and one folder, which becomes the target. */
  readonly isPacked: boolean;
  /** How many files and folders there may be. Default: 200,000. */
  readonly maxEntries?: number | undefined;
  /** Default: this one. */
  readonly platform?: Platform | undefined;
}

const MAX_ENTRIES = 200_000;
const BLOCK_BYTES = 512;
/** Folders that an archive does not list, as some programs leave them out. */
const UNLISTED_FOLDERS = 1000;

/**
 * Extracts a tar as the new folder `target`: in a temporary folder beside it, which gets the name
 * once the stream has ended without an error. Resolves to the number of files and folders. Throws
 * `archive_refused` or `target_exists`, and what the stream fails with; then there is nothing.
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

/** Throws `target_exists` where there is anything at the path, such as a link to nowhere. */
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

/** `<folder>.listing.tsv` and `<folder>/…`, as `put` packs a folder. */
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
  // Never one that is there, and through no link: the folder is new, and no link is made in it.
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

/** A file system may take two names for one, whatever the platform. */
function refusedByDisk(error: NodeJS.ErrnoException, entry: string): unknown {
  if (error.code === "EEXIST") {
    return refusal(entry, "has the name of another entry here");
  }
  if (error.code === "ENAMETOOLONG") {
    return refusal(entry, "has too long a name");
  }
  return error;
}

/** Gives the folder its name. An empty one takes the name first, which fails where it is taken. */
async function publish(
  { fs, process }: NodeModules,
  temporary: string,
  target: string,
) {
  await fs.mkdir(target).catch((error) => {
    throw error.code === "EEXIST" ? targetExists(target) : error;
  });
  try {
    // What the user's umask allows; the temporary folder is private.
    await fs.chmod(temporary, (await fs.lstat(target)).mode & 0o777);
    // Windows renames onto nothing, not even an empty folder.
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

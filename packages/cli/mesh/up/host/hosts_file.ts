/** Keeps the names of the peers in this host's file of names. */
import {
  chmod,
  chown,
  open,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  truncate,
} from "node:fs/promises";
import { hostname } from "node:os";
import { Buffer } from "node:buffer";
import type { Log } from "../basics/log.ts";
import type { WantedPeer } from "../wanted/accept.ts";
import { withNames } from "../wanted/hosts_block.ts";

export class HostsFile {
  /** Whether the last failure was logged already. */
  #hasFailed = false;
  #writtenAt: number | null = null;

  constructor(
    private readonly options: {
      /** Null: no names are kept. */
      readonly file: string | null;
      readonly interfaceName: string;
      readonly log: Log;
    },
  ) {}

  /** Writes the names of these peers, unless they are there already. Never throws. */
  async write(peers: readonly WantedPeer[]): Promise<void> {
    const { file, log } = this.options;
    if (file === null) return;
    try {
      await this.#write(file, peers);
      this.#hasFailed = false;
    } catch (error) {
      const reason = (error as Error).message.split("\n")[0];
      if (!this.#hasFailed) log(`the names of the peers cannot be written to ${file}: ${reason}`);
      this.#hasFailed = true;
    }
  }

  /** Writes the names again if another program has written the file since. */
  async keep(peers: readonly WantedPeer[]): Promise<void> {
    const { file } = this.options;
    if (file === null) return;
    const changedAt = await stat(file).then(({ mtimeMs }) => mtimeMs, () => null);
    if (changedAt !== this.#writtenAt) await this.write(peers);
  }

  async #write(link: string, peers: readonly WantedPeer[]): Promise<void> {
    const file = await realpath(link);
    const before = await readFile(file);
    // Some programs end a text at a NUL byte.
    if (before.includes(0)) throw new Error("it is not a text file");
    const { interfaceName } = this.options;
    // Latin-1 keeps every byte as it is.
    const text = withNames(before.toString("latin1"), {
      interfaceName,
      ownName: hostname(),
      peers,
    });
    const after = Buffer.from(text, "latin1");
    if (!after.equals(before)) {
      if (await isMounted(file) || !await replace(file, { before, after })) {
        await overwrite(file, { before, after });
      }
    }
    this.#writtenAt = (await stat(file)).mtimeMs;
  }
}

interface Change {
  readonly before: Buffer;
  readonly after: Buffer;
}

/** A mount point, as in many containers, cannot be replaced. */
async function isMounted(file: string): Promise<boolean> {
  const text = await readFile("/proc/self/mountinfo", "utf8").catch(() => "");
  return text.split("\n").some((line) => line.split(" ")[4] === file);
}

/**
 * Renames a new file with the same mode and owner over it. Resolves to false if another program has
 * changed the file meanwhile, or if its folder cannot be written to.
 */
async function replace(file: string, { before, after }: Change): Promise<boolean> {
  const part = `${file}.mesh-agent`;
  try {
    const { mode, uid, gid } = await stat(file);
    await rm(part, { force: true });
    const written = await open(part, "wx", 0o600);
    try {
      await written.writeFile(after);
      await written.sync();
    } finally {
      await written.close();
    }
    await chown(part, uid, gid);
    await chmod(part, mode & 0o7777);
    if (!(await readFile(file)).equals(before)) throw new Error("changed");
    await rename(part, file);
    return true;
  } catch {
    await rm(part, { force: true }).catch(() => {});
    return false;
  }
}

/**
 * Writes the new content in one write, padded with empty lines to the old length, and then cuts off
 * the padding. So no other line is ever missing, even if this process is killed.
 */
async function overwrite(file: string, { before, after }: Change): Promise<void> {
  if (!(await readFile(file)).equals(before)) throw new Error("it has changed meanwhile");
  const padding = Buffer.alloc(Math.max(before.length - after.length, 0), "\n");
  const written = await open(file, "r+");
  try {
    await written.write(Buffer.concat([after, padding]), 0, null, 0);
  } finally {
    await written.close();
  }
  await truncate(file, after.length);
}

/** What this host runs, for the next start of the agent. The files are in a folder in memory. */
import { open, readFile, rename, rm } from "node:fs/promises";
import type { Log } from "../basics/log.ts";
import { accept, type Wanted } from "../wanted/accept.ts";

export class StateFile {
  #text: string | null = null;
  #hasFailed = false;

  constructor(
    /** Holds the answer of the service that is applied, with its secrets. */
    readonly file: string,
    /** Tells the part that seeks paths which peers have an endpoint. Holds no secret. */
    readonly peersFile: string,
    private readonly log: Log,
  ) {}

  /** Null if there is none. A file that is not acceptable is removed. */
  async read(): Promise<Wanted | null> {
    const text = await readFile(this.file, "utf8").catch(() => null);
    if (text === null) return null;
    try {
      const wanted = accept(JSON.parse(text));
      this.#text = text;
      return wanted;
    } catch (error) {
      this.log(`${this.file} is removed: ${(error as Error).message}`);
      await rm(this.file, { force: true }).catch(() => {});
      return null;
    }
  }

  /**
   * Stores the answer. If that fails, removes what was stored before: rules that have been revoked
   * must not come back at the next start. Never throws.
   */
  async write(answer: unknown, wanted: Wanted): Promise<void> {
    this.#text = JSON.stringify(answer);
    await this.writeAgain(true);
    await replace(this.peersFile, peersText(wanted)).catch(() => {});
  }

  /** Stores what could not be stored before. */
  async writeAgain(isNew = false): Promise<void> {
    if (this.#text === null || !(isNew || this.#hasFailed)) return;
    const text = this.#text;
    const isStored = await replace(this.file, text).then(() => true, async () => {
      await rm(this.file, { force: true }).catch(() => {});
      return await replace(this.file, text).then(() => true, () => false);
    });
    if (!isStored && !this.#hasFailed) {
      this.log(
        `the configuration cannot be written to ${this.file}: is the disk full? ` +
          "It is applied all the same",
      );
    }
    if (isStored && this.#hasFailed) this.log("the configuration is stored again");
    this.#hasFailed = !isStored;
  }
}

/** In the form of a wg-quick configuration, without the keys that are secret. */
function peersText({ listenPort, peers }: Wanted): string {
  return [
    ...(listenPort === null ? [] : [`ListenPort = ${listenPort}`]),
    ...peers.flatMap(({ publicKey, endpoint }) => [
      `PublicKey = ${publicKey}`,
      ...(endpoint === null ? [] : [`Endpoint = ${endpoint.host}:${endpoint.port}`]),
    ]),
    "",
  ].join("\n");
}

/** Replaces the file in one step. If that fails, the file stays. */
async function replace(file: string, text: string): Promise<void> {
  const part = `${file}.part`;
  try {
    await rm(part, { force: true });
    const written = await open(part, "wx", 0o600);
    try {
      await written.writeFile(text);
    } finally {
      await written.close();
    }
    await rename(part, file);
  } catch (error) {
    await rm(part, { force: true }).catch(() => {});
    throw error;
  }
}

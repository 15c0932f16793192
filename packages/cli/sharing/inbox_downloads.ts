import type { AgentFiles } from "../../agent-files/agent_files.ts";
import type { InboxEntry } from "../../agent-files/contract/types.ts";
import { AgentError } from "../../agent-files/errors/agent_error.ts";
import type { Context } from "../context.ts";
import { type Downloaded, downloadGrant } from "../downloads/download_folder.ts";
import { inBytes, note, plain } from "../../command/terminal/output.ts";
import { ProgressBar } from "../terminal/progress_bar.ts";

/** After a transfer failed despite its retries, the next ones are retried only this long. */
const BRIEF_RETRY_SECONDS = 5;

/** Downloads grants one after another. After a failure, it continues with the next grant. */
export class InboxDownloads {
  /** The error of the first grant that failed; null if none did. */
  firstFailure: unknown = null;
  /** The grants that failed and may succeed later. */
  readonly again: Set<InboxEntry> = new Set();
  readonly #files: AgentFiles;
  readonly #folder: string;
  readonly #context: Context;
  readonly #whatNow: string;
  readonly #told = new Set<string>();
  #isBrief = false;

  constructor(
    files: AgentFiles,
    context: Context,
    { folder, whatNow }: { readonly folder: string; readonly whatNow: string },
  ) {
    this.#files = files;
    this.#folder = folder;
    this.#context = context;
    this.#whatNow = whatNow;
  }

  /** Downloads a grant. Throws only if no other grant could be downloaded either. */
  async take(grant: InboxEntry): Promise<void> {
    const { output } = this.#context;
    let downloaded: Downloaded;
    try {
      downloaded = await this.#download(grant);
    } catch (error) {
      await this.#assertServed(error);
      this.#fail(grant, error);
      return;
    }
    await output.value(
      { ...grant, path: downloaded.path, is_new: downloaded.isNew },
      ({ path, size, is_new }) =>
        `${plain(path)}  ${inBytes(size)}${is_new ? "" : "  (already there)"}`,
    );
  }

  async #download(grant: InboxEntry): Promise<Downloaded> {
    using bar = new ProgressBar(String(grant.key), this.#context.output);
    const downloaded = await downloadGrant(this.#files, grant, {
      folder: this.#folder,
      onProgress: bar.show,
      ...(this.#isBrief && { retrySeconds: BRIEF_RETRY_SECONDS }),
    });
    this.#isBrief = false;
    return downloaded;
  }

  /**
   * Throws if the whole service fails. One grant's failure can look the same, so call /inbox to
   * see.
   */
  async #assertServed(error: unknown): Promise<void> {
    this.#context.signal.throwIfAborted();
    if (!(error instanceof AgentError)) return;
    if (error.retryable || [0, 401, 403].includes(error.status)) {
      await this.#files.inboxPage({ limit: 1 });
    }
  }

  #fail(grant: InboxEntry, error: unknown): void {
    // The grant was revoked or has ended: not a failure.
    const isGone = error instanceof AgentError &&
      [404, 410].includes(error.status) &&
      error.code !== "download_broken" && error.code !== "artifact_lost";
    const mayBeHad = !(error instanceof AgentError) || error.retryable;
    if (!isGone) this.firstFailure ??= error;
    if (mayBeHad) this.again.add(grant);
    if (error instanceof AgentError && error.retryable) this.#isBrief = true;
    if (this.#told.has(grant.grant_id)) return;
    this.#told.add(grant.grant_id);
    const message = plain(
      error instanceof Error ? error.message : String(error),
    );
    const now = mayBeHad ? ` ${this.#whatNow}` : "";
    note(`${plain(`${grant.key} from ${grant.from_agent}`)}: ${message}${now}`);
  }
}

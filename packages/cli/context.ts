import process from "node:process";
import { AgentFiles } from "../agent-files/agent_files.ts";
import { AgentMesh } from "../agent-files/agent_mesh.ts";
import type { CommonOptions, ConnectionOptions } from "../agent-files/http/connection_options.ts";
import { neededFetch } from "../agent-files/proxy/needed_fetch.ts";
import type { Described } from "../command/command.ts";
import { UsageError } from "../command/usage_error.ts";
import { NotLoggedInError } from "./exit_codes.ts";
import { type Login, readLogin } from "./login_file.ts";
import { retryNotice } from "./network/retry_notice.ts";
import { Output } from "../command/terminal/output.ts";

export interface ContextOptions {
  readonly json: boolean;
  readonly signal: AbortSignal;
  readonly verbs: Context["verbs"];
  /** The value of `--retry-seconds`. */
  readonly retrySeconds?: number | undefined;
}

/** What a verb needs to run. */
export class Context {
  readonly output: Output;
  /** Aborted by Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
  /** The declarations of all verbs. */
  readonly verbs: () => Promise<Readonly<Record<string, Described>>>;
  readonly #retrySeconds: number | undefined;

  constructor({ json, signal, verbs, retrySeconds }: ContextOptions) {
    this.output = new Output({ json });
    this.signal = signal;
    this.verbs = verbs;
    this.#retrySeconds = retrySeconds;
  }

  /**
   * The agent's files, with AGENT_URL and AGENT_KEY or the stored login. Throws NotLoggedInError.
   */
  async files(): Promise<AgentFiles> {
    return new AgentFiles(await this.connection());
  }

  async mesh(): Promise<AgentMesh> {
    return new AgentMesh(await this.connection());
  }

  async connection(): Promise<ConnectionOptions> {
    const { AGENT_URL, AGENT_KEY, AGENT_ID } = process.env;
    const { url, key, agentId, enrolled }: Login = AGENT_URL && AGENT_KEY
      ? { url: AGENT_URL, key: AGENT_KEY }
      : {
        ...await readLogin(),
        ...(AGENT_KEY && { key: AGENT_KEY, agentId: undefined }),
      };
    if (AGENT_URL && !URL.canParse(AGENT_URL)) {
      throw new UsageError("AGENT_URL is not a URL.");
    }
    if (AGENT_URL && new URL(AGENT_URL).origin !== new URL(url).origin) {
      throw new NotLoggedInError(
        "The stored login is not for AGENT_URL. Set AGENT_KEY as well, or unset AGENT_URL.",
      );
    }
    const options = {
      url,
      agentId: AGENT_ID || agentId,
      ...await this.network(),
    };
    if (AGENT_KEY || enrolled === undefined) return { ...options, key };
    const { storedKey } = await import("./enrolment/enrolled_login.ts");
    return { ...options, key: storedKey(options) };
  }

  /** How every request of this command is sent. Throws UsageError for a wrong setting. */
  async network(): Promise<Omit<CommonOptions, "url">> {
    const fetch = await neededFetch().catch((error) => {
      throw error instanceof RangeError ? new UsageError(error.message, { cause: error }) : error;
    });
    return {
      signal: this.signal,
      onRetry: retryNotice(this.output),
      ...(this.#retrySeconds !== undefined &&
        { retrySeconds: this.#retrySeconds }),
      ...(fetch !== undefined && { fetch }),
    };
  }
}

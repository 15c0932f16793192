import process from "node:process";
import { AgentFiles } from "../agent_files.ts";
import { AgentMesh } from "../agent_mesh.ts";
import type { ConnectionOptions } from "../http/connection.ts";
import type { Described } from "./command/command.ts";
import { NotLoggedInError } from "./exit_codes.ts";
import { readLogin } from "./login_file.ts";
import { Output } from "./terminal/output.ts";

/** What a verb needs to run. */
export class Context {
  readonly output: Output;
  /** Aborted by Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
  /** Every verb, as it declares itself. */
  readonly verbs: () => Promise<Readonly<Record<string, Described>>>;

  constructor({ json, signal, verbs }: Pick<Context, "signal" | "verbs"> & { json: boolean }) {
    this.output = new Output({ json });
    this.signal = signal;
    this.verbs = verbs;
  }

  /**
   * The agent's files, by AGENT_URL and AGENT_KEY, or else the login. Throws NotLoggedInError.
   */
  async files(): Promise<AgentFiles> {
    return new AgentFiles(await this.connection());
  }

  async mesh(): Promise<AgentMesh> {
    return new AgentMesh(await this.connection());
  }

  async connection(): Promise<ConnectionOptions> {
    const { AGENT_URL, AGENT_KEY, AGENT_ID } = process.env;
    const { url, key, agentId } = AGENT_URL && AGENT_KEY
      ? { url: AGENT_URL, key: AGENT_KEY, agentId: undefined }
      : { ...await readLogin(), ...(AGENT_KEY && { key: AGENT_KEY, agentId: undefined }) };
    if (AGENT_URL && new URL(AGENT_URL).origin !== new URL(url).origin) {
      throw new NotLoggedInError(
        "The login is for another address than AGENT_URL. Set AGENT_KEY, too.",
      );
    }
    return { url, key, agentId: AGENT_ID || agentId, signal: this.signal };
  }
}

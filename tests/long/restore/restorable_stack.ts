import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { removePostgresHome } from "../../../packages/local/postgres/home.ts";
import { runProgram } from "../../../packages/local/processes/run_program.ts";
import { THROW_AWAY } from "../../../packages/local/stack/options.ts";
import { type Stack, startStack } from "../../../packages/local/stack/stack.ts";
import { stateFiles } from "../../../packages/local/state/state_files.ts";
import { Terminal } from "../../docs/blocks/terminal.ts";

/**
 * A stack that can be restored to an earlier state, at the same address. The backup is a copy of
 * the stopped cluster, not a dump: the server's package contains no pg_dump, no other package has
 * the one of version 17, and that of Debian 12 (version 15) refuses a newer server.
 */
export class RestorableStack implements AsyncDisposable {
  private constructor(readonly stateDir: string, public stack: Stack) {}

  static async open(): Promise<RestorableStack> {
    const stateDir = await Deno.makeTempDir({ prefix: "agent-mesh-restore-" });
    // Let other users pass through the folder: as root, PostgreSQL runs as another user.
    await Deno.chmod(stateDir, 0o711);
    return new RestorableStack(stateDir, await startStack({ ...THROW_AWAY, stateDir }));
  }

  get #database(): string {
    return stateFiles(this.stateDir).postgres;
  }

  async #whileStopped(act: () => Promise<unknown>): Promise<void> {
    const port = Number(new URL(this.stack.url).port);
    await this.stack.stop();
    await act();
    this.stack = await startStack({ ...THROW_AWAY, stateDir: this.stateDir, port });
  }

  backUp(): Promise<void> {
    return this.#whileStopped(() => copy(this.#database, `${this.#database}.backup`));
  }

  restore(): Promise<void> {
    return this.#whileStopped(async () => {
      await rm(this.#database, { recursive: true });
      await copy(`${this.#database}.backup`, this.#database);
    });
  }

  /** POSTs with an agent key, as the operator if `key` is null, or without a credential. */
  async post(path: string, body: object, key: string | null = null) {
    const response = await fetch(`${this.stack.url}${path}`, {
      method: "POST",
      headers: key === null
        ? { apikey: this.stack.secretKey, "content-type": "application/json" }
        : key === "nobody"
        ? {}
        : { authorization: `Bearer ${key}` },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: await response.json() };
  }

  /** The body of an answer, which must be 200. */
  async ask(path: string, body: object, key: string | null = null) {
    const answer = await this.post(path, body, key);
    assert.equal(answer.status, 200, `${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  async terminal(): Promise<Terminal> {
    const { url, secretKey } = this.stack;
    return await Terminal.open({
      environment: { SUPABASE_URL: url, SUPABASE_SECRET_KEY: secretKey },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stack.stop();
    await removePostgresHome(this.stateDir);
    await rm(this.stateDir, { recursive: true, force: true });
  }
}

async function copy(from: string, to: string): Promise<void> {
  const { code, errors } = await runProgram("cp", { args: ["-a", from, to] });
  assert.equal(code, 0, errors);
}

/** A separate stack for tests that break it. One of its functions can be replaced. */
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import postgres from "postgres";
import { PROJECT } from "../../../local/project.ts";
import { diagnose } from "../../doctor/diagnose.ts";
import type { Connection } from "../../connection/connection.ts";
import type { Finding } from "../../doctor/findings/finding.ts";
import { removePostgresHome } from "../../../local/postgres/home.ts";
import { type FunctionOptions, startFunction } from "../../../local/stack/functions.ts";
import { THROW_AWAY } from "../../../local/stack/options.ts";
import { type Stack, startStack } from "../../../local/stack/stack.ts";
import { stateFiles } from "../../../local/state/state_files.ts";
import { type Intercept, startProxy } from "../../../../tests/own_function/proxy.ts";

export type FunctionName = "agent-artifacts" | "agent-mesh";

/** A function that replaces one of the stack's. */
export interface OtherFunction {
  readonly name: FunctionName;
  /** Variables that differ from the stack's function. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly functionsDirectory?: string;
  readonly program?: NonNullable<FunctionOptions["program"]>;
}

export class Deployment implements AsyncDisposable {
  private constructor(
    readonly stack: Stack,
    /** Connected as a superuser. */
    readonly sql: postgres.Sql,
    /** Connected like the SQL editor of the platform's dashboard. */
    readonly editor: postgres.Sql,
  ) {}

  /** Starts a whole stack. Its database says that it is swept on a schedule. */
  static async open(): Promise<Deployment> {
    const stateDir = await Deno.makeTempDir({ prefix: "agent-mesh-doctor-" });
    // Other users may traverse the directory: if this runs as root, PostgreSQL uses another user.
    await Deno.chmod(stateDir, 0o711);
    const stack = await startStack({ ...THROW_AWAY, stateDir });
    const sql = connect(stack.superuserDatabaseUrl);
    const deployment = new Deployment(stack, sql, connect(stack.databaseUrl));
    await deployment.ask("/agent-artifacts/sweep");
    await sql`update artifacts.sweeps set schedule = '*/2 * * * *'`;
    return deployment;
  }

  get connection(): Connection {
    const { url, secretKey } = this.stack;
    return { SUPABASE_URL: url, SUPABASE_SECRET_KEY: secretKey };
  }

  /** POSTs to an operation as the operator. Returns the answer. */
  async ask<Answer>(path: string, body: object = {}): Promise<Answer> {
    const response = await fetch(`${this.stack.url}/functions/v1${path}`, {
      method: "POST",
      headers: { apikey: this.stack.secretKey },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    return await response.json();
  }

  /** The doctor's findings, without those of level `ok`. */
  async complaints(connection: Partial<Connection> = {}): Promise<Finding[]> {
    const findings = await diagnose({ ...this.connection, ...connection });
    return findings.filter(({ level }) => level !== "ok");
  }

  /** The complaints if a gateway answers some requests itself. */
  async complaintsThrough(
    intercept: Intercept,
    connection: Partial<Connection> = {},
  ): Promise<Finding[]> {
    await using proxy = startProxy(this.stack.url, intercept);
    return await this.complaints({ ...connection, SUPABASE_URL: proxy.url });
  }

  /** The complaints if another instance replaces one of the stack's functions. */
  async complaintsWith(other: OtherFunction): Promise<Finding[]> {
    return await this.withFunction(other, (url) => this.complaints({ SUPABASE_URL: url }));
  }

  /** Runs `use` with the URL of a gateway to that instance and the rest of the stack. */
  async withFunction<Result>(
    { name, environment = {}, ...others }: OtherFunction,
    use: (url: string) => Promise<Result>,
  ): Promise<Result> {
    const running = await startFunction({
      name,
      environment: { ...this.stack.functionEnvironment(), ...environment },
      logFile: stateFiles(this.stack.stateDir).logFile(`${name}-other`),
      ...others,
    });
    try {
      await using proxy = startProxy(this.stack.url, ({ method, path, headers, body }) => {
        const prefix = "/functions/v1";
        if (!path.startsWith(`${prefix}/${name}/`)) return undefined;
        const given = new Headers(headers);
        given.delete("host");
        return fetch(running.url + path.slice(prefix.length), {
          method,
          headers: given,
          body: body === "" ? null : body,
        });
      });
      return await use(proxy.url);
    } finally {
      await running.stop();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.sql.end(), this.editor.end()]);
    await this.stack.stop();
    await removePostgresHome(this.stack.stateDir);
    await rm(this.stack.stateDir, { recursive: true, force: true });
  }
}

function connect(url: string): postgres.Sql {
  return postgres(url, { max: 1, onnotice: () => {} });
}

/** A remedy's text and what it says to paste, on one line. */
export function remedyIn({ remedy, paste }: Finding): string {
  return [remedy, paste?.text ?? ""].join(" ").replaceAll(/\s+/g, " ").trim();
}

/** Runs `use` with a copy of this checkout's functions in which one file is changed. */
export async function withOtherSources<Result>(
  { file, from, to }: { readonly file: string; readonly from: string; readonly to: string },
  use: (functionsDirectory: string) => Promise<Result>,
): Promise<Result> {
  const directory = await Deno.makeTempDir({ prefix: "agent-mesh-sources-" });
  try {
    await cp(join(PROJECT, "supabase", "functions"), directory, { recursive: true });
    const text = await Deno.readTextFile(join(directory, file));
    if (!text.includes(from)) throw new Error(`${file} has no ${from}`);
    await Deno.writeTextFile(join(directory, file), text.replace(from, to));
    return await use(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

import { createHash } from "node:crypto";
import { PGlite, protocol } from "@electric-sql/pglite";
import { pg_surgery } from "@electric-sql/pglite/contrib/pg_surgery";
import { pgcrypto } from "@electric-sql/pglite/contrib/pgcrypto";
import { uuid_ossp } from "@electric-sql/pglite/contrib/uuid_ossp";
import { runInDatabase } from "./globals.ts";
import { Machine, type Snapshot } from "./machine.ts";

/** A row as text, by its columns' names. */
export type Row = Readonly<Record<string, string | null>>;

/** An error that PostgreSQL reports. */
export class SqlError extends Error {
  override readonly name = "SqlError";

  constructor(
    message: string,
    readonly code: string,
    readonly detail: string | null,
    readonly hint: string | null,
  ) {
    super(message);
  }
}

/** One statement, with its parameters as text. */
export type Statement = readonly [sql: string, values?: readonly (string | null)[]];

/** A state to which the database can go back. */
export interface SavedDatabase {
  readonly machine: Snapshot;
  readonly prepared: ReadonlyMap<string, string>;
}

/**
 * PostgreSQL in this process, with one connection. A query is answered before the call returns, so
 * nothing can come between its statements.
 */
export class SimulatedDatabase {
  /** How many queries were run. */
  queries = 0;
  /** How many of them may have changed a row. */
  changes = 0;
  readonly #pglite: PGlite;
  readonly #machine: Machine;
  #prepared = new Map<string, string>();
  /** The columns of each statement that has succeeded, by its text: they are asked for once. */
  readonly #columns = new Map<string, readonly string[]>();

  private constructor(pglite: PGlite) {
    this.#pglite = pglite;
    this.#machine = new Machine(pglite);
  }

  /** Opens the data directory of `dump`, which `makeDump` has made. */
  static async open(dump: Uint8Array<ArrayBuffer>): Promise<SimulatedDatabase> {
    const pglite = await startPostgres(new Blob([dump]));
    drawFromGlobals(pglite);
    return new SimulatedDatabase(pglite);
  }

  /**
   * Runs the statements in one transaction, and returns the rows of each. Throws SqlError. The
   * caller counts the changes.
   */
  transaction(statements: readonly Statement[]): Row[][] {
    this.queries++;
    const messages: Uint8Array[] = [];
    const parsedNow: string[] = [];
    for (const [text, values = []] of statements) {
      let name = this.#prepared.get(text);
      if (name === undefined) {
        name = `s${this.#prepared.size}`;
        this.#prepared.set(text, name);
        parsedNow.push(text);
        messages.push(protocol.serialize.parse({ name, text }));
      }
      messages.push(protocol.serialize.bind({ statement: name, values: [...values] }));
      if (!this.#columns.has(text)) {
        messages.push(protocol.serialize.describe({ type: "P", name: "" }));
      }
      messages.push(protocol.serialize.execute({}));
    }
    messages.push(protocol.serialize.sync());
    const answer = runInDatabase(() => this.#pglite.execProtocolRawSync(joined(messages)));
    try {
      const results = readAnswer(answer, statements.map(([text]) => this.#columns.get(text) ?? []));
      for (const [at, { columns }] of results.entries()) {
        this.#columns.set(statements[at]![0], columns);
      }
      return results.map(({ rows }) => rows);
    } catch (error) {
      // A statement that was not reached was not parsed either.
      for (const text of parsedNow) this.#prepared.delete(text);
      this.#deallocate(parsedNow.length);
      throw error;
    }
  }

  /** Runs a query that may change rows. Throws SqlError. */
  query(sql: string, values: readonly (string | null)[] = []): Row[] {
    this.changes++;
    return this.read(sql, values);
  }

  /** Runs a query that changes no row. Throws SqlError. */
  read(sql: string, values: readonly (string | null)[] = []): Row[] {
    return this.transaction([[sql, values]])[0]!;
  }

  /** Runs any number of statements without parameters. Throws SqlError. */
  run(sql: string): void {
    this.changes++;
    readAnswer(
      runInDatabase(() => this.#pglite.execProtocolRawSync(protocol.serialize.query(sql))),
    );
  }

  save(): SavedDatabase {
    return { machine: this.#machine.save(), prepared: new Map(this.#prepared) };
  }

  restore({ machine, prepared }: SavedDatabase): void {
    this.changes++;
    this.#machine.restore(machine);
    this.#prepared = new Map(prepared);
  }

  /** Some of the names may be in use without our knowing which: later ones must be new. */
  #deallocate(count: number): void {
    for (let index = 0; index < count; index++) {
      this.#prepared.set(`a name that is used up ${this.#prepared.size}`, "");
    }
  }
}

/** Makes an empty database with the platform and the project's migrations; its data directory. */
export async function makeDump(sql: readonly string[]): Promise<Uint8Array<ArrayBuffer>> {
  const pglite = await startPostgres(null);
  for (const text of sql) await pglite.exec(text);
  const dump = await pglite.dumpDataDir("none");
  await pglite.close();
  return new Uint8Array(await dump.arrayBuffer());
}

/** What a dump depends on besides the SQL. */
export function dumpName(sql: readonly string[]): string {
  const version = import.meta.resolve("@electric-sql/pglite");
  return createHash("sha256").update([version, ...sql].join("\0")).digest("hex").slice(0, 16);
}

const SETTINGS = [
  // Less memory is saved and restored sooner.
  "shared_buffers=8MB",
  "jit=off",
  // Otherwise each of the first five calls of a statement is planned again.
  "plan_cache_mode=force_generic_plan",
];

function startPostgres(loadDataDir: Blob | null): Promise<PGlite> {
  const { defaultStartParams } = PGlite as unknown as { defaultStartParams: string[] };
  return PGlite.create({
    extensions: { pg_surgery, pgcrypto, uuid_ossp },
    startParams: [...defaultStartParams, ...SETTINGS.flatMap((setting) => ["-c", setting])],
    ...(loadDataDir === null ? {} : { loadDataDir }),
  });
}

interface Devices {
  readonly FS: {
    lookupPath(path: string): { readonly node: { readonly rdev: number } };
    getDevice(device: number): {
      readonly stream_ops: {
        read: (
          stream: unknown,
          buffer: Int8Array<ArrayBuffer>,
          at: number,
          length: number,
        ) => number;
      };
    };
  };
}

/** PostgreSQL's random bytes come from `crypto` at once: the device itself keeps some in store. */
function drawFromGlobals(pglite: PGlite): void {
  const { FS } = pglite.Module as unknown as Devices;
  for (const path of ["/dev/random", "/dev/urandom"]) {
    FS.getDevice(FS.lookupPath(path).node.rdev).stream_ops.read = (_stream, buffer, at, length) => {
      crypto.getRandomValues(buffer.subarray(at, at + length));
      return length;
    };
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

interface Message {
  readonly name: string;
  readonly fields: readonly unknown[];
}

/** What one statement has answered. */
interface Result {
  readonly columns: readonly string[];
  readonly rows: Row[];
}

/** `known`: the columns of each statement that was not asked for them. Throws SqlError. */
function readAnswer(bytes: Uint8Array, known: readonly (readonly string[])[] = []): Result[] {
  const results: Result[] = [];
  let columns = known[0] ?? [];
  let rows: Row[] = [];
  let failure: SqlError | null = null;
  new protocol.Parser().parse(bytes, (message) => {
    const { name, fields } = message as unknown as Message;
    switch (name) {
      case "rowDescription":
        columns = (fields as { name: string }[]).map((field) => field.name);
        break;
      case "dataRow": {
        const row: Record<string, unknown> = {};
        for (let at = 0; at < columns.length; at++) row[columns[at]!] = fields[at];
        rows.push(row as Row);
        break;
      }
      case "commandComplete":
        results.push({ columns, rows });
        rows = [];
        columns = known[results.length] ?? [];
        break;
      case "error": {
        const { message: text, code, detail, hint } = message as unknown as SqlError;
        failure ??= new SqlError(text, code, detail ?? null, hint ?? null);
      }
    }
  });
  if (failure !== null) throw failure;
  return results;
}

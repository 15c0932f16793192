import { createClient } from "@supabase/supabase-js";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import postgres from "postgres";
import { stateFiles } from "../../state/state_files.ts";

/** A variable that dev/checks/test.ts sets. */
export function variable(name: string): string {
  const value = Deno.env.get(name);
  if (!value) throw new Error(`${name} is not set: run the tests with dev/checks/test.ts`);
  return value;
}

export const STORAGE_URL = `${variable("SUPABASE_URL")}/storage/v1`;

export interface BucketOptions {
  /** In bytes. */
  readonly sizeLimit?: number;
}

/** A private bucket for one test, and functions to use it. */
export async function openBucket(options: BucketOptions = {}) {
  const name = `test-${crypto.randomUUID()}`;
  await withDatabase((sql) =>
    sql`insert into storage.buckets (id, name, public, file_size_limit)
        values (${name}, ${name}, false, ${options.sizeLimit ?? null})`
  );
  const client = createClient(variable("SUPABASE_URL"), variable("SUPABASE_SECRET_KEY"));
  const bucket = client.storage.from(name);

  return {
    name,
    client: bucket,
    /** A new signed upload URL. */
    async signUpload(path: string): Promise<string> {
      const { data, error } = await bucket.createSignedUploadUrl(path);
      if (error) throw error;
      return data.signedUrl;
    },
    async signDownload(path: string, seconds = 60): Promise<string> {
      const { data, error } = await bucket.createSignedUrl(path, seconds);
      if (error) throw error;
      return data.signedUrl;
    },
    /** Puts `text` at an empty path. */
    async upload(path: string, text: string): Promise<void> {
      const response = await putText(await this.signUpload(path), text);
      if (response.status !== 200) {
        throw new Error(`PUT: ${response.status} ${await response.text()}`);
      }
      await response.body?.cancel();
    },
    /** The current text at `path`, or null. */
    async read(path: string): Promise<string | null> {
      const { data } = await bucket.download(path);
      return data === null ? null : await data.text();
    },
  };
}

export function putText(
  url: string,
  text: string,
  headers: Record<string, string> = { "content-type": "text/plain" },
): Promise<Response> {
  return fetch(url, { method: "PUT", body: text, headers });
}

/** A PUT whose body the test sends piece by piece. */
export function startPut(url: string, headers: Record<string, string> = {}) {
  const abort = new AbortController();
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  const body = new ReadableStream<Uint8Array>({ start: (given) => void (controller = given) });
  const response = fetch(url, { method: "PUT", body, headers, signal: abort.signal });
  return {
    send: (text: string) => controller.enqueue(new TextEncoder().encode(text)),
    async finish(): Promise<Response> {
      controller.close();
      return await response;
    },
    /** The client disconnects in the middle. */
    async abort(): Promise<void> {
      abort.abort();
      await response.then((late) => late.body?.cancel(), () => {});
    },
  };
}

/**
 * Waits until Storage has exactly `count` uploads in progress, each with at least one byte
 * received.
 */
export async function awaitUploadsUnderWay(count: number): Promise<void> {
  const directory = join(stateFiles(variable("STATE_DIR")).storage, "uploads");
  const deadline = Date.now() + 10_000;
  while (Date.now() < deadline) {
    const sizes = await Promise.all(
      (await readdir(directory)).map((file) =>
        stat(join(directory, file)).then(({ size }) => size, () => 0)
      ),
    );
    if (sizes.length === count && sizes.every((size) => size > 0)) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`There were never ${count} uploads under way.`);
}

/** The body of a Storage error together with the HTTP status. */
export async function errorOf(response: Response) {
  const { statusCode, error, message, code } = await response.json();
  return { status: response.status, statusCode, error, message, code };
}

export async function withDatabase<T>(use: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(variable("SUPABASE_DB_URL"), { max: 1 });
  try {
    return await use(sql);
  } finally {
    await sql.end();
  }
}

/** Storage's signing secret, with which a test signs tokens that Storage would not issue. */
export async function jwtSecret(): Promise<string> {
  return JSON.parse(await readFile(stateFiles(variable("STATE_DIR")).keys, "utf8")).jwtSecret;
}

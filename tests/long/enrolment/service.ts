/** A stack that a test starts for itself, and requests whose answer may be lost. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { readEnvironment } from "../../../packages/local/tests/stack/stack_process.ts";

const PATIENCE_MILLISECONDS = 60_000;

export interface Service {
  readonly stateDir: string;
  readonly url: string;
  readonly secretKey: string;
}

export interface Answer {
  readonly status: number;
  // deno-lint-ignore no-explicit-any
  readonly body: any;
}

/** Returns null if no answer came, because a part was killed meanwhile. */
export async function ask(url: string, init: RequestInit): Promise<Answer | null> {
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(20_000) });
    return { status: response.status, body: await response.json() };
  } catch {
    return null;
  }
}

export async function putEnrolment({ url, secretKey }: Service, fields: object) {
  const answer = await ask(`${url}/functions/v1/agent-artifacts/enrolment/put`, {
    method: "POST",
    headers: { apikey: secretKey },
    body: JSON.stringify(fields),
  });
  assert.equal(answer?.status, 200, JSON.stringify(answer));
  return answer!.body;
}

export function whoami({ url }: Service, by: string, key: string): Promise<Answer | null> {
  const headers = { authorization: `Bearer ${key}` };
  return ask(`${url}/functions/v1/${by}/whoami`, { headers });
}

export async function untilThere<Value>(what: () => Promise<Value | null>): Promise<Value> {
  const deadline = Date.now() + PATIENCE_MILLISECONDS;
  while (Date.now() < deadline) {
    const value = await what();
    if (value !== null) return value;
    await sleep(50);
  }
  throw new Error("the service did not come back");
}

export async function withDatabase<Result>(
  { stateDir }: Service,
  run: (sql: postgres.Sql) => Promise<Result>,
): Promise<Result> {
  const { SUPABASE_SUPERUSER_DB_URL } = await readEnvironment(stateDir);
  const sql = postgres(SUPABASE_SUPERUSER_DB_URL!, { max: 2, onnotice: () => {} });
  try {
    return await run(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

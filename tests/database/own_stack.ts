/**
 * A separate stack for one test, so that its sweeps see a bucket without objects of other tests.
 */
import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import postgres from "postgres";
import { removePostgresHome } from "../../packages/local/postgres/home.ts";
import { type StackOptions, THROW_AWAY } from "../../packages/local/stack/options.ts";
import { type Stack, startStack } from "../../packages/local/stack/stack.ts";
import type { Swept } from "./sweep/sweeping.ts";

export const NOTHING_TO_DO: Swept = {
  expired: 0,
  abandoned: 0,
  orphaned: 0,
  orphans_held: 0,
  forgotten_events: 0,
  removed_agents: 0,
  remaining: 0,
};

export interface OwnStack {
  readonly stack: Stack;
  /** Connected as the superuser. */
  readonly sql: postgres.Sql;
  /** POSTs to an operation of agent-artifacts as the operator; anything but 200 fails the test. */
  ask<AnswerBody>(path: string, body?: unknown): Promise<AnswerBody>;
}

export async function withOwnStack(
  run: (own: OwnStack) => Promise<void>,
  options: Partial<StackOptions> = {},
): Promise<void> {
  const stateDir = await Deno.makeTempDir({ prefix: "agent-mesh-sweep-" });
  try {
    // Other users may traverse the directory: if this runs as root, PostgreSQL uses another user.
    await Deno.chmod(stateDir, 0o711);
    const stack = await startStack({
      ...THROW_AWAY,
      functionNames: ["agent-artifacts"],
      ...options,
      stateDir,
    });
    const sql = postgres(stack.superuserDatabaseUrl, { max: 2, onnotice: () => {} });
    try {
      await run({
        stack,
        sql,
        ask: (path, body = {}) => askAsOperator(`${stack.url}/functions/v1`, { path, body, stack }),
      });
    } finally {
      await sql.end();
      await stack.stop();
    }
  } finally {
    await removePostgresHome(stateDir);
    await rm(stateDir, { recursive: true, force: true });
  }
}

/** Like `OwnStack.ask`, for any instance of the function. */
export async function askAsOperator<AnswerBody>(
  origin: string,
  { path, body, stack }: { path: string; body: unknown; stack: Stack },
): Promise<AnswerBody> {
  const response = await fetch(`${origin}/agent-artifacts${path}`, {
    method: "POST",
    headers: { apikey: stack.secretKey },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  assert.equal(response.status, 200, `${path}: ${text}`);
  return JSON.parse(text) as AnswerBody;
}

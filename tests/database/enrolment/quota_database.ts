/** Enrolments, agents and registrations in a database of their own, by SQL functions. */
import assert from "node:assert/strict";
import type postgres from "postgres";
import { sha256 } from "../../bench/fill/cast.ts";
import { callAsService } from "../connection.ts";

export const OPERATOR = { kind: "operator", request_id: "quota" };
const ENROLLING = { kind: "enrolment", request_id: "quota" };

export interface EnrolledAgent {
  readonly agent_id: string;
  readonly caller: object;
}

export interface MadeEnrolment {
  readonly enrolment_id: string;
  readonly enrolment_key: string;
}

export async function makeEnrolment(
  sql: postgres.Sql,
  fields: object = {},
): Promise<MadeEnrolment> {
  return await callAsService<MadeEnrolment & Record<string, unknown>>(sql, "put_enrolment", {
    caller: OPERATOR,
    enrolment: {
      kind: "key",
      uses_left: null,
      session_seconds: 3600,
      ...("agent_id" in fields ? {} : { agent_prefix: "vm-" }),
      ...fields,
    },
  });
}

export async function enrolAs(
  sql: postgres.Sql,
  { enrolment_key }: MadeEnrolment,
  agent_name: string | null,
): Promise<EnrolledAgent> {
  const answer = await callAsService<{ agent_id: string; key: string; refused?: string }>(
    sql,
    "enrol_with_key",
    { caller: ENROLLING, enrolment_key_hash: sha256(enrolment_key), agent_name },
  );
  assert.ok(answer.refused === undefined, `${answer.refused}`);
  const caller = { kind: "agent", key_hash: sha256(answer.key), request_id: "quota" };
  // The Edge Function calls it before the first operation.
  await callAsService(sql, "note_first_use", { caller });
  return { agent_id: answer.agent_id, caller };
}

/** Registers an artifact for an agent, by itself or by the operator. Returns its artifact_id. */
export async function registerFor(
  sql: postgres.Sql,
  { agent_id, caller = OPERATOR }: { readonly agent_id: string; readonly caller?: object },
  size: number,
  quota_bytes = 0,
): Promise<string> {
  const artifact_id = `art_${crypto.randomUUID().replaceAll("-", "")}`;
  await callAsService(sql, "register_artifact", {
    caller,
    agent_id,
    artifact_id,
    key: "k",
    mime: "text/plain",
    size,
    ttl_days: 1,
    quota_bytes,
    max_pending: 1000,
  });
  return artifact_id;
}

/** What is stored that the agents of an enrolment hold, after comparing it with the agents' own. */
export async function heldBy(sql: postgres.Sql, { enrolment_id }: MadeEnrolment): Promise<number> {
  const [row] = await sql<[{ stored: number; counted: number }]>`
    select
      (select coalesce(sum(bytes), 0)::integer from artifacts.enrolment_totals
        where enrolment_id = ${enrolment_id}) stored,
      (select coalesce(sum(c.pending_bytes + c.committed_bytes + c.superseded_bytes
          + c.surplus_bytes), 0)::integer
        from agents.enrolled_agents a cross join lateral artifacts.count_totals(a.agent_id) c
        where a.enrolment_id = ${enrolment_id}) counted`;
  assert.equal(row.stored, row.counted, "the sum over the artifacts of its agents");
  assert.deepEqual(await callAsService(sql, "check_project_totals", {}), {});
  return row.stored;
}

/** Standing grants in a test's database, without Storage. */
import type postgres from "postgres";
import { callAsService } from "../connection.ts";
import { OPERATOR } from "../versions/committing.ts";

export const OWNER = "planner";
export const READER = "builder";

const IN_AN_HOUR = () => new Date(Date.now() + 3_600_000).toISOString();

export function newStandingId(): string {
  return `standing_${crypto.randomUUID().replaceAll("-", "")}`;
}

/** The parameters of create_standing_grant: of everything that the owner commits, by default. */
export function creation(fields: object = {}) {
  return {
    caller: OPERATOR,
    standing_id: newStandingId(),
    agent_id: OWNER,
    name: "",
    is_prefix: true,
    to_agent: READER,
    to_tag: null,
    expires_at: IN_AN_HOUR(),
    grant_days: null,
    existing: false,
    ...fields,
  };
}

/** Makes a standing grant; returns its id. */
export async function createStanding(sql: postgres.Sql, fields: object = {}): Promise<string> {
  const parameters = creation(fields);
  await callAsService(sql, "create_standing_grant", parameters);
  return parameters.standing_id;
}

export interface Ended {
  readonly ended: boolean;
  readonly revoked: number;
  readonly remaining: boolean;
}

export function endStanding(
  sql: postgres.Sql,
  standing_id: string,
  fields: object = {},
): Promise<Ended> {
  return callAsService(sql, "end_standing_grant", { caller: OPERATOR, standing_id, ...fields });
}

/** The artifacts of which live grants to an agent exist. */
export async function grantedTo(sql: postgres.Sql, agent = READER): Promise<string[]> {
  const rows = await sql<{ artifact_id: string }[]>`
    select artifact_id from artifacts.grants
    where grantee = ${agent} and live_until > clock_timestamp() order by artifact_id`;
  return rows.map(({ artifact_id }) => artifact_id);
}

/** How many standing grants are live. */
export async function liveCount(sql: postgres.Sql): Promise<number> {
  const [{ count }] = await sql<[{ count: number }]>`
    select count(*)::integer as count from artifacts.standing_grants
    where live_until > clock_timestamp()`;
  return count;
}

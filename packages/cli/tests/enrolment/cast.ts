/** Enrolments for the clients' tests, and what the database knows of the enrolled agents. */
import { withStackDatabase } from "../../../../tests/database/connection.ts";
import {
  type EnrolmentWithKey,
  newName,
  put as putEnrolment,
} from "../../../../tests/conformance/enrolment/enrolments.ts";
import { Issuer, type TokenClaims } from "../../../../tests/conformance/enrolment/issuer.ts";

const AUDIENCE = "https://agents.example.com";

export interface Trusted {
  readonly enrolment: EnrolmentWithKey;
  /** A single-use token of the trusted issuer. */
  token(claims: TokenClaims): Promise<string>;
}

/** Creates a trust in a new issuer. The claim `sub` is the agent's name. */
export async function trust(): Promise<Trusted> {
  const issuer = await Issuer.create(`https://${newName("issuer")}.example.com`);
  const enrolment = await putEnrolment({
    kind: "trust",
    issuer: issuer.url,
    audience: AUDIENCE,
    jwks: issuer.jwks as never,
    conditions: [{ claim: "sub", prefix: "new-run-" }],
    agent_template: "{sub}",
    single_use_tokens: true,
  });
  return { enrolment, token: (claims) => issuer.sign({ aud: AUDIENCE, ...claims }) };
}

/** The number of times that an agent has enrolled. */
export async function generationOf(agent: string): Promise<number> {
  const rows = await withStackDatabase((sql) =>
    sql<{ generation: number }[]>`
      select generation from agents.enrolled_agents where agent_id = ${agent}`
  );
  return rows[0]?.generation ?? 0;
}

/** Makes an agent's keys expire. */
export async function expireKeys(agent: string): Promise<void> {
  await withStackDatabase((sql) =>
    sql`update agents.keys set expires_at = now() - interval '1 second' where agent_id = ${agent}`
  );
}

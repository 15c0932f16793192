/** Enrolments for the clients' tests, and what the service knows of who came by them. */
import { withStackDatabase } from "../../database/connection.ts";
import {
  type EnrolmentWithKey,
  newName,
  put as putEnrolment,
} from "../../conformance/enrolment/enrolments.ts";
import { Issuer, type TokenClaims } from "../../conformance/enrolment/issuer.ts";

const AUDIENCE = "https://agents.example.com";

export interface Trusted {
  readonly enrolment: EnrolmentWithKey;
  /** A token of one use, of the issuer that is trusted. */
  token(claims: TokenClaims): Promise<string>;
}

/** An issuer whose tokens name the agent by `sub`. */
export async function trust(): Promise<Trusted> {
  const issuer = await Issuer.create(`https://${newName("issuer")}.example.com`);
  const enrolment = await putEnrolment({
    ...{ kind: "trust", issuer: issuer.url, audience: AUDIENCE, jwks: issuer.jwks as never },
    ...{ conditions: [{ claim: "sub", prefix: "run-" }], agent_template: "{sub}" },
    single_use_tokens: true,
  });
  return { enrolment, token: (claims) => issuer.sign({ aud: AUDIENCE, ...claims }) };
}

/** How often an agent has enrolled. */
export async function generationOf(agent: string): Promise<number> {
  const rows = await withStackDatabase((sql) =>
    sql<{ generation: number }[]>`
      select generation from agents.enrolled_agents where agent_id = ${agent}`
  );
  return rows[0]?.generation ?? 0;
}

/** Ends an agent's keys as time does. */
export async function expireKeys(agent: string): Promise<void> {
  await withStackDatabase((sql) =>
    sql`update agents.keys set expires_at = now() - interval '1 second' where agent_id = ${agent}`
  );
}

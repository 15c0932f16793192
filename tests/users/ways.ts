/** The four ways in which somebody can become an agent. */
import { type Answer, type JsonObject, operatorRpc, send } from "../conformance/client.ts";
import { newName, put, tryEnrol } from "../conformance/enrolment/enrolments.ts";
import { Issuer } from "../conformance/enrolment/issuer.ts";
import { withStackDatabase } from "../database/connection.ts";
import { signIn } from "./signed_in.ts";

const AUDIENCE = "https://agents.example.com";

export interface Outcome {
  readonly status: number;
  readonly code: unknown;
}

export const TAKEN: Outcome = { status: 409, code: "agent_name_taken" };

function outcomeOf({ status, body }: Answer): Outcome {
  return { status, code: (body["error"] as JsonObject | undefined)?.["code"] };
}

/** A way in: how somebody becomes the agent of a name, and what the database calls the way. */
export interface Way {
  readonly what: string;
  /** Tries to become the agent. Its answer is that of the attempt, or of the first request. */
  readonly enter: (name: string) => Promise<Outcome>;
  readonly wayOf: (name: string) => Promise<string>;
}

async function trustOf(template = "{sub}") {
  const issuer = await Issuer.create(`https://${newName("issuer")}.example.com`);
  const { enrolment_id } = await put({
    kind: "trust",
    issuer: issuer.url,
    audience: AUDIENCE,
    jwks: issuer.jwks as never,
    conditions: [{ claim: "env", equals: "main" }],
    agent_template: template,
  });
  return {
    enrolment_id,
    enrol: async (sub: string) =>
      await tryEnrol({ token: await issuer.sign({ aud: AUDIENCE, env: "main", sub }) }),
  };
}

/** New ways, each with an enrolment of its own. */
export async function newWays(): Promise<readonly Way[]> {
  const byKey = await put({ uses_left: null });
  const byTrust = await trustOf();
  const userIs = async (name: string) => {
    const { key } = await signIn({ id: name }, { shares: false });
    const headers = { authorization: `Bearer ${key}` };
    return outcomeOf(await send("/agent-artifacts/whoami", { headers }));
  };
  return [
    {
      what: "an agent key of the operator",
      enter: async (agent_id) => {
        const { status, body } = await operatorRpc("create_agent_key", { agent_id });
        return { status, code: body["message"] };
      },
      wayOf: () => Promise.resolve("operator"),
    },
    {
      what: "an enrolment key of a group",
      enter: async (agent_name) =>
        outcomeOf(await tryEnrol({ enrolment_key: byKey.enrolment_key, agent_name })),
      wayOf: () => Promise.resolve(byKey.enrolment_id),
    },
    {
      what: "a trust",
      enter: async (name) => outcomeOf(await byTrust.enrol(name)),
      wayOf: () => Promise.resolve(byTrust.enrolment_id),
    },
    { what: "a signed-in user", enter: userIs, wayOf: () => Promise.resolve("users") },
  ];
}

export const HOW_MANY_WAYS = 4;

/** What the database knows of a name. */
export async function stateOf(name: string): Promise<unknown> {
  return await withStackDatabase(async (sql) =>
    [
      await sql`select ways from agents.names where agent_id = ${name}`,
      await sql`select key_id, revoked_at from agents.keys where agent_id = ${name} order by key_id`,
      await sql`select enrolment_id, generation from agents.enrolled_agents where agent_id = ${name}`,
      await sql`select tag from agents.agent_tags where agent_id = ${name}`,
    ].map((rows) => Array.from(rows))
  );
}

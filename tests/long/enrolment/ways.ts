/** The ways to enrol: with an enrolment key or a token, at each path that accepts it. */
import { newName } from "../../conformance/enrolment/enrolments.ts";
import { Issuer } from "../../conformance/enrolment/issuer.ts";
import { ask, putEnrolment, type Service } from "./service.ts";

const AUDIENCE = "https://agents.example.com";
const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/** The proof with which an agent enrols. */
export interface Proof {
  readonly agent_id: string;
  readonly enrolment_id: string;
  /**
   * How many uses the enrolment has left after this many enrolments. Null: uses are not limited.
   */
  readonly usesLeftAfter: (enrolments: number) => number | null;
  /** Prepares the next enrolment: a job gets a new token for it. */
  renew(): Promise<void>;
  /** Resolves to the agent key, or to null if the answer was lost or has no agent key. */
  enrol(): Promise<string | null>;
}

export interface Way {
  readonly name: string;
  /** The function that gets the requests. */
  readonly by: string;
  readonly newProof: (service: Service, by: string) => Promise<Proof>;
}

async function byKey(service: Service, by: string): Promise<Proof> {
  const { enrolment_id, enrolment_key } = await putEnrolment(service, {
    kind: "key",
    uses_left: 2,
    agent_prefix: "new-",
  });
  const agent_name = newName("vm");
  const body = JSON.stringify({ enrolment_key, agent_name });
  return {
    agent_id: agent_name,
    enrolment_id,
    usesLeftAfter: (enrolments) => 2 - enrolments,
    renew: () => Promise.resolve(),
    async enrol() {
      const url = `${service.url}/functions/v1/${by}/enroll`;
      return (await ask(url, { method: "POST", body }))?.body.key ?? null;
    },
  };
}

/** Enrols with a single-use token, which `send` sends. */
async function byToken(
  service: Service,
  send: (token: string) => ReturnType<typeof ask>,
): Promise<Proof> {
  const issuer = await Issuer.create(`https://${newName("issuer")}.example.com`);
  const { enrolment_id } = await putEnrolment(service, {
    kind: "trust",
    issuer: issuer.url,
    audience: AUDIENCE,
    jwks: issuer.jwks,
    conditions: [{ claim: "sub", prefix: "new-run" }],
    agent_template: "{sub}",
    single_use_tokens: true,
  });
  const sub = newName("run");
  let token = "";
  return {
    agent_id: sub,
    enrolment_id,
    usesLeftAfter: () => null,
    async renew() {
      token = await issuer.sign({ aud: AUDIENCE, sub });
    },
    async enrol() {
      const answer = await send(token);
      if (answer?.status === 400 || answer?.status === 401) {
        throw new Error(`refused: ${JSON.stringify(answer.body)}`);
      }
      return answer?.body.key ?? answer?.body.access_token ?? null;
    },
  };
}

function byTokenAtEnroll(service: Service, by: string): Promise<Proof> {
  const url = `${service.url}/functions/v1/${by}/enroll`;
  return byToken(service, (token) => ask(url, { method: "POST", body: JSON.stringify({ token }) }));
}

function byTokenAtToken(service: Service, by: string): Promise<Proof> {
  const url = `${service.url}/functions/v1/${by}/token`;
  return byToken(service, (assertion) => {
    const body = new URLSearchParams({ grant_type: JWT_BEARER, assertion });
    return ask(url, { method: "POST", body });
  });
}

/** /token does not accept an enrolment key. */
export const WAYS: readonly Way[] = ["agent-artifacts", "agent-mesh"].flatMap((by) => [
  { by, name: `a key at /${by}/enroll`, newProof: byKey },
  { by, name: `a token at /${by}/enroll`, newProof: byTokenAtEnroll },
  { by, name: `a token at /${by}/token`, newProof: byTokenAtToken },
]);

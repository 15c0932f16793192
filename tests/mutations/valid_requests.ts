import { type Agent, createAgent, headersOf, type JsonObject } from "../conformance/client.ts";
import { newName, put } from "../conformance/enrolment/enrolments.ts";
import { Issuer } from "../conformance/enrolment/issuer.ts";
import type { Card, FunctionName } from "../operations/card.ts";
import { ARTIFACTS_CARDS, MESH_CARDS } from "../operations/cards.ts";
import { arrangeArtifacts, arrangeMesh, type Cast, eventsFromNow } from "../operations/casts.ts";
import { FORM_HEADERS, type ValidRequest } from "./mutants.ts";

const AUDIENCE = "https://agents.example.com";

/**
 * The valid requests of every operation, and one to every other path. Their fresh agents have
 * artifacts and peers to lose.
 */
export async function arrangeValidRequests(): Promise<ValidRequest[]> {
  const [owner, reader] = await Promise.all([createAgent("owner"), createAgent("reader")]);
  const artifacts = await arrangeArtifacts(owner, reader);
  const mesh = await arrangeMesh(owner, reader);
  return [
    { method: "GET", path: `/agent-artifacts/d/${artifacts.token}`, headers: {}, body: {} },
    ...await commonRequests("agent-artifacts", owner),
    ...await commonRequests("agent-mesh", owner),
    ...await requestsOf(ARTIFACTS_CARDS, artifacts),
    ...await requestsOf(MESH_CARDS, mesh),
  ];
}

async function requestsOf<Of extends Cast>(
  cards: Readonly<Record<string, Card<Of>>>,
  cast: Of,
): Promise<ValidRequest[]> {
  const inOrder = Object.entries(cards)
    .toSorted(([, one], [, other]) => Number(one.isLast ?? false) - Number(other.isLast ?? false));
  const requests: ValidRequest[] = [];
  for (const [path, card] of inOrder) {
    for (const { as, body } of await card.valid(cast)) {
      requests.push({ path: `/${cast.functionName}${path}`, headers: headersOf(as), body });
    }
  }
  return requests;
}

/** Requests to the paths of both functions that are no operations. */
async function commonRequests(name: FunctionName, agent: Agent): Promise<ValidRequest[]> {
  const params = { name: "events", arguments: await eventsFromNow(agent) };
  return [
    { path: `/${name}/token`, headers: FORM_HEADERS, body: await tokenRequest() },
    { method: "GET", path: `/${name}/whoami`, headers: headersOf(agent), body: {} },
    { method: "GET", path: `/${name}/metrics`, headers: headersOf("operator"), body: {} },
    {
      path: `/${name}/mcp`,
      headers: {
        ...headersOf(agent),
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: { jsonrpc: "2.0", id: 1, method: "tools/call", params },
    },
  ];
}

/** Trusted once per process, because creating its keys takes a while. */
let trusted: Promise<Issuer> | undefined;

async function trustIssuer(): Promise<Issuer> {
  const issuer = await Issuer.create(`https://${newName("issuer")}.example.com`);
  await put({
    kind: "trust",
    issuer: issuer.url,
    audience: AUDIENCE,
    jwks: issuer.jwks as never,
    conditions: [{ claim: "sub", prefix: "new-run" }],
    agent_template: "{sub}",
  });
  return issuer;
}

/** A request to OAuth's token endpoint. */
async function tokenRequest(): Promise<JsonObject> {
  const issuer = await (trusted ??= trustIssuer());
  return {
    grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
    assertion: await issuer.sign({ aud: AUDIENCE, sub: newName("run") }),
  };
}

import {
  grant,
  publish,
  registerAndUpload,
  secondsFromNow,
  sha256,
} from "../conformance/artifacts.ts";
import {
  type Agent,
  createAgent,
  headersOf,
  type JsonObject,
  succeed,
} from "../conformance/client.ts";
import { newPubkey, pairUp, ruleBetween } from "../conformance/mesh_cast.ts";
import { newName, put } from "../conformance/enrolment/enrolments.ts";
import { Issuer } from "../conformance/enrolment/issuer.ts";
import { FORM_HEADERS, type ValidRequest } from "./mutants.ts";

const AUDIENCE = "https://agents.example.com";

/** A trust in an issuer that signs nothing. The public key is from RFC 8037, A.2. */
const ISSUER: JsonObject = {
  issuer: "https://mutated.example.com",
  audience: AUDIENCE,
  jwks: {
    keys: [{ kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" }],
  },
  conditions: [{ claim: "sub", equals: "a" }, { claim: "ref", prefix: "refs/" }],
  agent_template: "{sub}",
};

/** One valid request for every operation. Its fresh agents have artifacts and peers to lose. */
export async function arrangeValidRequests(): Promise<ValidRequest[]> {
  const [owner, reader] = await Promise.all([createAgent("owner"), createAgent("reader")]);
  return [...await artifactRequests(owner, reader), ...await meshRequests(owner, reader)];
}

async function artifactRequests(owner: Agent, reader: Agent): Promise<ValidRequest[]> {
  const [committed, uploaded, doomed] = await Promise.all([
    publish(owner, { key: "committed" }),
    registerAndUpload(owner, { key: "uploaded" }),
    publish(owner, { key: "doomed" }),
  ]);
  const { artifact_id } = committed;
  const { token, grant_id } = await grant(owner, committed, { to: reader });
  await grant(owner, doomed, { to: reader });
  const to_agent = reader.id;
  const by = (agent: Agent, path: string, body: JsonObject) =>
    requestOf(agent, `/agent-artifacts${path}`, body);
  const stranger = await createAgent("stranger");
  const page = { limit: 1, cursor: cursorOf("committed") };
  return [
    by(owner, "/register", {
      ...{ agent_id: owner.id, key: "a/b.txt", mime: "text/plain", size: 5, ttl_days: 7 },
    }),
    by(owner, "/commit", { artifact_id: uploaded.artifact_id, sha256: sha256("hello") }),
    by(owner, "/grants", { agent_id: owner.id, artifact_id, to_agent, limit: 1 }),
    by(owner, "/grant", { artifact_id, to_agent, expires_at: secondsFromNow(600) }),
    by(owner, "/grant", { artifact_id, expires_at: secondsFromNow(600), max_downloads: 5 }),
    by(owner, "/revoke", { artifact_id: doomed.artifact_id, to_agent }),
    by(owner, "/revoke", { grant_id: grant_id.replace(/.$/, "0") }),
    by(reader, "/fetch", { grant_token: token }),
    { method: "GET", path: `/agent-artifacts/d/${token}`, headers: {}, body: {} },
    by(reader, "/open", { artifact_id, max_size: 5 }),
    by(reader, "/inbox", { agent_id: to_agent, limit: 10 }),
    by(reader, "/inbox/block", { agent_id: to_agent, from_agent: stranger.id }),
    by(reader, "/inbox/unblock", { agent_id: to_agent, from_agent: stranger.id }),
    by(owner, "/events", {
      ...await eventsOf(owner),
      types: ["artifact.committed", "grant.created"],
    }),
    by(reader, "/wait", { agent_id: to_agent, ...await positionsOf(reader) }),
    ...await requestsOfBoth(owner, "/agent-artifacts"),
    by(owner, "/list", { agent_id: owner.id, prefix: "", ...page }),
    by(owner, "/delete", { artifact_id: doomed.artifact_id }),
    {
      path: "/agent-artifacts/sweep",
      headers: headersOf("operator"),
      body: { limit: 1, remove_many_orphans: false },
    },
  ];
}

async function meshRequests(one: Agent, other: Agent): Promise<ValidRequest[]> {
  await pairUp(one, other);
  const agent_id = one.id;
  const by = (path: string, body: JsonObject) => requestOf(one, `/agent-mesh${path}`, body);
  return [
    by("/peer/register", {
      ...{ agent_id, pubkey: newPubkey(), endpoint: "203.0.113.7:51820", listen_port: 51_820 },
      endpoints: ["203.0.113.7:51820", "[2001:db8::7]:51820"],
    }),
    by("/peer/heartbeat", {
      agent_id,
      config_version: 1,
      paths: [{
        agent_id: other.id,
        handshake_age_seconds: 42,
        endpoint: "[2001:db8::7]:51820",
        via: "direct",
      }],
    }),
    by("/events", { ...await eventsOf(one), types: ["peer.registered"] }),
    by("/wait", { agent_id, config_version: 1, paths: [], ...await positionsOf(one) }),
    ...await requestsOfBoth(one, "/agent-mesh"),
    by("/netmap", { agent_id }),
    by("/acl/put", { ...ruleBetween(one, other, { port: 8443 }) }),
    by("/acl/revoke", { ...ruleBetween(one, other, { port: 8443 }) }),
    by("/wg_config", { agent_id, private_key_file: "/etc/wireguard/%i.key", firewall: "none" }),
    by("/wg_config", { agent_id, format: "json" }),
    by("/psk/rotate", { a: one.id, b: other.id }),
    by("/relay", { agent_id }),
    requestOf(other, "/agent-mesh/peer/remove", { agent_id: other.id }),
    { path: "/agent-mesh/psk/keys", headers: headersOf("operator"), body: {} },
  ];
}

/** Arguments for a page of events after the current position. */
async function eventsOf(agent: Agent): Promise<JsonObject> {
  const { latest } = await succeed<{ latest: string }>("/agent-mesh/events", { as: agent });
  return { agent_id: agent.id, after: latest, limit: 2 };
}

/** The positions after which /wait continues. */
async function positionsOf(agent: Agent): Promise<JsonObject> {
  const [inbox, events] = await Promise.all(
    ["/agent-artifacts/inbox", "/agent-mesh/events"].map((path) =>
      succeed<{ latest: string }>(path, { as: agent })
    ),
  );
  return { inbox_after: inbox!.latest, events_after: events!.latest };
}

/** Requests that both functions have. */
async function requestsOfBoth(agent: Agent, functionPath: string): Promise<ValidRequest[]> {
  const params = { name: "events", arguments: await eventsOf(agent) };
  const { enrolment_key, enrolment_id } = await put();
  const leaving = await createAgent("leaving");
  const byOperator = (path: string, body: JsonObject) => ({
    ...{ path: `${functionPath}/enrolment/${path}`, headers: headersOf("operator"), body },
  });
  return [
    {
      path: `${functionPath}/enroll`,
      headers: {},
      body: { enrolment_key, agent_name: newName("enrolled") },
    },
    { path: `${functionPath}/token`, headers: FORM_HEADERS, body: await tokenRequest() },
    requestOf(leaving, `${functionPath}/leave`, { agent_id: leaving.id }),
    byOperator("put", { kind: "key", label: "mutated", uses_left: 1, session_seconds: 60 }),
    byOperator("put", { kind: "trust", label: "mutated", ...ISSUER }),
    byOperator("list", { limit: 1 }),
    byOperator("test", { issuer: "https://issuer.example.com", claims: { sub: "a" } }),
    byOperator("revoke", { enrolment_id, undo_grants: false }),
    { method: "GET", path: `${functionPath}/whoami`, headers: headersOf(agent), body: {} },
    { method: "GET", path: `${functionPath}/metrics`, headers: headersOf("operator"), body: {} },
    {
      path: `${functionPath}/mcp`,
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
    ...{ kind: "trust", issuer: issuer.url, audience: AUDIENCE, jwks: issuer.jwks as never },
    ...{ conditions: [{ claim: "sub", prefix: "new-run" }], agent_template: "{sub}" },
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

function requestOf(agent: Agent, path: string, body: JsonObject): ValidRequest {
  return { path, headers: headersOf(agent), body };
}

/** Some text in the alphabet of cursors. Its content does not matter. */
function cursorOf(text: string): string {
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

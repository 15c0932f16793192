/** Issuers whose keys the functions of a local stack fetch, and other answers in place of keys. */
import assert from "node:assert/strict";
import { readStackOptions } from "../../stack/options.ts";
import { newName } from "../../../../tests/conformance/enrolment/enrolments.ts";
import { Issuer } from "../../../../tests/conformance/enrolment/issuer.ts";
import { type OwnStack, withOwnStack } from "../../../../tests/database/own_stack.ts";

const AUDIENCE = "https://agents.example.com";
const KIB = 1024;

/** An issuer on this machine. `answer` handles requests for its keys. */
interface Served {
  readonly issuer: Issuer;
  readonly host: string;
  answer: (request: Request) => Response | Promise<Response>;
  /** The number of requests for its keys. */
  asked: number;
}

async function serve(ends: AsyncDisposableStack): Promise<Served> {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    if (new URL(request.url).pathname === "/.well-known/openid-configuration") {
      const { url } = served.issuer;
      return Response.json({ issuer: url, jwks_uri: `${url}/jwks` });
    }
    served.asked++;
    return served.answer(request);
  });
  ends.defer(() => server.shutdown());
  const host = `127.0.0.1:${server.addr.port}`;
  const served: Served = {
    issuer: await Issuer.create(`http://${host}`),
    host,
    answer: () => keys(served),
    asked: 0,
  };
  return served;
}

/** The right keys, padded with spaces to `bytes` bytes. */
function keys({ issuer }: Served, bytes = 0): Response {
  const text = JSON.stringify(issuer.jwks);
  return new Response(text + " ".repeat(Math.max(0, bytes - text.length)));
}

interface Refused {
  readonly reason: string;
  readonly detail: string;
}

/** Enrols in every way. Returns the agent's answers, the operator's test result, and the events. */
async function tryToEnrol({ stack, sql, ask }: OwnStack, { issuer }: Served) {
  const { enrolment_id } = await ask<{ enrolment_id: string }>("/enrolment/put", {
    kind: "trust",
    issuer: issuer.url,
    audience: AUDIENCE,
    agent_template: "{sub}",
    conditions: [{ claim: "sub", prefix: "new-run" }],
  });
  const token = await issuer.sign({ aud: AUDIENCE, sub: newName("run") });
  const [{ latest } = { latest: 0 }] = await sql<{ latest: number }[]>`
    select coalesce(max(event_id), 0)::int as latest from agents.events`;
  const send = async (path: string, body: BodyInit) => {
    const response = await fetch(`${stack.url}/functions/v1${path}`, { method: "POST", body });
    const text = await response.text();
    assert.ok(!text.includes(issuer.url), "only the operator is told what came");
    const { error, key, access_token } = JSON.parse(text);
    return key ?? access_token ? "a key" : `${response.status} ${error.code ?? error}`;
  };
  const answers = [
    await send("/agent-artifacts/enroll", JSON.stringify({ token })),
    await send("/agent-mesh/enroll", JSON.stringify({ token, enrolment_id })),
    await send(
      "/agent-artifacts/token",
      new URLSearchParams({
        grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
        assertion: token,
      }),
    ),
  ];
  const { refused } = await ask<{ refused: Refused[] }>("/enrolment/test", { token });
  const events = await sql<Refused[]>`
    select details ->> 'reason' as reason, details ->> 'detail' as detail from agents.events
    where action = 'enrolment.refused' and event_id > ${latest} order by event_id`;
  const [{ agents } = { agents: 0 }] = await sql<{ agents: number }[]>`
    select count(*)::int as agents from agents.enrolled_agents
    where enrolment_id = ${enrolment_id}`;
  return {
    answers,
    tested: refused.map(({ reason }) => reason),
    events: events.map(({ reason }) => reason),
    agents,
    told: [...new Set([...refused, ...events].map(({ detail }) => detail))],
  };
}

const TAKEN = { answers: ["a key", "a key", "a key"], tested: [], events: [], agents: 1, told: [] };
const REFUSED = {
  answers: ["401 enrolment_refused", "401 enrolment_refused", "400 invalid_grant"],
  tested: ["issuer_unreachable"],
  events: ["issuer_unreachable", "issuer_unreachable", "issuer_unreachable"],
  agents: 0,
};

Deno.test("keys that a local stack fetches from an issuer in ISSUER_HOSTS → agents enrol; keys of 300 KiB, redirected, of another host, none → refused, and the operator sees why", async () => {
  await using ends = new AsyncDisposableStack();
  const right = await serve(ends);
  const most = await serve(ends);
  most.answer = () => keys(most, 256 * KIB);
  const large = await serve(ends);
  large.answer = () => keys(large, 300 * KIB);
  const redirected = await serve(ends);
  redirected.answer = ({ url }) =>
    url.endsWith("/moved") ? keys(redirected) : Response.redirect(`${redirected.issuer.url}/moved`);
  const failing = await serve(ends);
  failing.answer = () => new Response("no", { status: 500 });
  const unlisted = await serve(ends);

  const listed = [right, most, large, redirected, failing];
  await withOwnStack(async (own) => {
    assert.deepEqual(await tryToEnrol(own, right), TAKEN);
    assert.deepEqual(await tryToEnrol(own, most), TAKEN);
    const causes = [
      [large, "answered more than 262144 bytes."],
      [redirected, "answered with status 302."],
      [failing, "answered with status 500."],
    ] as const;
    for (const [one, came] of causes) {
      const told = [`Its keys, ${one.issuer.url}/jwks: ${came}`];
      assert.deepEqual(await tryToEnrol(own, one), { ...REFUSED, told });
      // Each function asked once, because it does not ask again soon after a failure.
      assert.equal(one.asked, 2);
    }
    const { told: [told = ""], ...others } = await tryToEnrol(own, unlisted);
    assert.deepEqual(others, REFUSED);
    assert.ok(told.startsWith(`Its document, ${unlisted.issuer.url}/.well-known/`), told);
    assert.equal(unlisted.asked, 0);
  }, {
    functionNames: ["agent-artifacts", "agent-mesh"],
    issuerHosts: listed.map(({ host }) => host),
  });
});

Deno.test("ISSUER_HOSTS: unset → none; hosts, with or without a port → these; anything else → a sentence that names it", () => {
  const hostsBy = (ISSUER_HOSTS: string) => readStackOptions({ ISSUER_HOSTS }).issuerHosts;
  assert.deepEqual([readStackOptions({}).issuerHosts, hostsBy("")], [[], []]);
  assert.deepEqual(hostsBy("gitlab.com, 127.0.0.1:8080"), ["gitlab.com", "127.0.0.1:8080"]);
  for (const text of ["*", "https://gitlab.com", "gitlab.com,", "a b", "-x", "*.example.com"]) {
    assert.throws(() => hostsBy(text), /ISSUER_HOSTS must be hosts, separated by commas/, text);
  }
});

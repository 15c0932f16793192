/** What a stranger learns from a refusal, and what the operator learns. */
import assert from "node:assert/strict";
import { functionUrl, type JsonObject, operatorRpc, succeed } from "../client.ts";
import { endMadeEnrolments, enrol, eventsOf, newName, put } from "./enrolments.ts";
import { Issuer } from "./issuer.ts";
import { makeWrongTokens } from "./wrong_tokens.ts";

Deno.test.afterEach(endMadeEnrolments);

const AUDIENCE = "https://agents.example.com";

/** The complete response, including its headers, except for the time. */
async function refusalOf(path: string, type: string, body: string): Promise<string> {
  const response = await fetch(functionUrl(path), {
    method: "POST",
    headers: { "content-type": type, "x-request-id": "the-same" },
    body,
  });
  const headers = [...response.headers].filter(([name]) => name !== "date");
  return JSON.stringify([response.status, headers, await response.text()]);
}

Deno.test("every wrong token → refused by the same bytes, its reason in the event and in /enrolment/test, and nobody enrols", async () => {
  const issuer = await Issuer.create(`https://${newName("issuer")}.example.com`);
  const { enrolment_id } = await put({
    kind: "trust",
    issuer: issuer.url,
    audience: AUDIENCE,
    jwks: issuer.jwks as never,
    conditions: [
      { claim: "owner_id", equals: "9919" },
      { claim: "ref", prefix: "refs/heads/release/" },
      { claim: "/place/name.space", equals: "eu" },
    ],
    agent_template: "ci-{run_id}",
    max_token_age_seconds: 600,
  });
  const right = {
    aud: AUDIENCE,
    owner_id: "9919",
    ref: "refs/heads/release/1",
    run_id: newName("run"),
    place: { "name.space": "eu" },
  };
  const wrong = await makeWrongTokens(issuer, right);
  assert.ok(wrong.length >= 90, String(wrong.length));
  const refusals = { enroll: new Set<string>(), token: new Set<string>() };
  for (const { name, make, reason, claim } of wrong) {
    refusals.enroll.add(
      await refusalOf(
        "/agent-artifacts/enroll",
        "application/json",
        JSON.stringify({ token: await make(), enrolment_id }),
      ),
    );
    const { matches, refused } = await succeed<{ matches: string[]; refused: JsonObject[] }>(
      "/agent-mesh/enrolment/test",
      { as: "operator", body: { token: await make() } },
    );
    assert.deepEqual(matches, [], name);
    assert.deepEqual([refused[0]!["reason"], refused[0]!["claim"]], [reason, claim], name);
  }
  const told = (await eventsOf("enrolment.refused"))
    .filter((event) => event["enrolment_id"] === enrolment_id)
    .map(({ reason, claim }) => `${reason} ${claim ?? ""}`);
  assert.deepEqual(told, wrong.map(({ reason, claim }) => `${reason} ${claim ?? ""}`));

  for (const { make } of wrong) {
    const token = await make();
    // /token trims the form's value, so a token with spaces around it would be valid there.
    if (token !== token.trim()) continue;
    const assertion = new URLSearchParams({
      grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
      assertion: token,
      enrolment_id,
    });
    refusals.token.add(
      await refusalOf("/agent-mesh/token", "application/x-www-form-urlencoded", String(assertion)),
    );
  }
  for (const paths of Object.values(refusals)) assert.equal(paths.size, 1, [...paths].join("\n"));
  assert.match([...refusals.enroll][0]!, /^\[401,.*enrolment_refused/);
  assert.match([...refusals.token][0]!, /^\[400,.*invalid_grant/);
  const { body } = await operatorRpc<{ live_keys: number }>("read_agent", {
    agent_id: `ci-${right.run_id}`,
  });
  assert.equal(body?.live_keys ?? 0, 0);
  // A token just inside the limits is accepted, so each wrong one was refused for its one fault.
  const seconds = Math.floor(Date.now() / 1000);
  const barely = await issuer.sign({
    ...right,
    exp: seconds - 25,
    nbf: seconds + 25,
    iat: seconds + 25,
  });
  assert.equal((await enrol({ token: barely })).generation, 1);
});

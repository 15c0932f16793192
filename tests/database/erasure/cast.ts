import assert from "node:assert/strict";
import {
  deleteArtifact,
  grant,
  open,
  publish,
  redeem,
  register,
} from "../../conformance/artifacts.ts";
import {
  type Agent,
  createAgent,
  endCreatedAgents,
  type JsonObject,
  operatorRpc,
  post,
  succeed,
} from "../../conformance/client.ts";
import { newKey } from "../../conformance/enrolment/issuer.ts";
import { createStanding } from "../../operations/artifacts/standing/standing.ts";
import { withStackDatabase } from "../connection.ts";

/** Every column of the project's and Storage's tables that contains a text, in any type. */
export async function columnsWith(text: string): Promise<string[]> {
  return await withStackDatabase(async (sql) => {
    const columns = await sql<{ table: string; column: string }[]>`
      select a.attrelid::regclass::text as table, quote_ident(a.attname) as column
      from pg_attribute a
      join pg_class c on c.oid = a.attrelid
      join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = any (agents.own_schemas() || '{storage,public}')
        and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
      order by a.attrelid, a.attnum`;
    assert.ok(columns.length > 150, String(columns.length));
    // Search the text form of every type (JSON, arrays, composites), and the text's hex and base64.
    const holds = (value: string) =>
      `(strpos(${value}, $1) > 0
        or strpos(${value}, encode(convert_to($1, 'UTF8'), 'hex')) > 0
        or strpos(${value}, encode(convert_to($1, 'UTF8'), 'base64')) > 0)`;
    // One statement, because one for each column would take seconds.
    const rows = await sql.unsafe<{ found: string }[]>(
      columns.map(({ table, column }) =>
        `select '${table}.${column}' as found
        where exists (select from ${table} where ${holds(`${column}::text`)})`
      ).join(" union all "),
      [text],
    );
    return rows.map(({ found }) => found);
  });
}

/** An agent with something in every table. */
export async function bringToLife(agent: Agent, builder: Agent): Promise<void> {
  const artifact = await publish(agent, { key: `${agent.id}/plan.txt`, content: "one" });
  await publish(agent, { key: `${agent.id}/plan.txt`, content: "two" });
  await deleteArtifact(agent, await publish(agent, { key: `gone/${agent.id}` }));
  await register(agent, { key: `${agent.id}.pending` });
  const given = await grant(agent, artifact, { to: builder });
  await redeem(given.token);
  await redeem(given.token);
  await open(builder, artifact);
  await open(builder, artifact);
  const theirs = await publish(builder);
  await grant(builder, theirs, { to: agent });
  await open(agent, theirs);
  await open(agent, theirs);
  for (const [as, to_agent] of [[agent, builder.id], [builder, agent.id]] as const) {
    const fields = { to_agent, note: `from ${as.id}`, existing: true };
    await createStanding(as, { ...fields, prefix: `${as.id}/` });
    const { standing_id } = await createStanding(as, { ...fields, key: `${as.id}.txt` });
    await succeed("/agent-artifacts/standing/end", { as, body: { standing_id } });
  }
  await post("/agent-artifacts/inbox/block", { as: agent, body: { from_agent: builder.id } });
  await post("/agent-artifacts/inbox/block", { as: builder, body: { from_agent: agent.id } });
  await post("/agent-mesh/acl/put", {
    as: agent,
    body: { from_agent: agent.id, to_agent: builder.id, port: 22, proto: "tcp" },
    headers: { "x-request-id": `of-${agent.id}` },
  });
  for (const [as, key] of [[agent, "a"], [builder, "b"]] as const) {
    await succeed("/agent-mesh/peer/register", {
      as,
      body: {
        pubkey: btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(31)), 1)),
        endpoint: `${key}-${as.id.toLowerCase()}.example.com:51820`,
      },
    });
  }
  const rule = { from_agent: agent.id, to_agent: builder.id, port: 443, proto: "tcp" };
  for (const as of [agent, builder]) await succeed("/agent-mesh/acl/put", { as, body: rule });
  await succeed("/agent-mesh/psk/rotate", { as: agent, body: { a: agent.id, b: builder.id } });
  const asked = { ...rule, port: 80 };
  await succeed("/agent-mesh/acl/put", { as: agent, body: asked });
  await succeed("/agent-mesh/acl/revoke", { as: builder, body: asked });
  for (let times = 0; times < 8; times++) {
    await succeed("/agent-mesh/acl/put", { as: agent, body: { ...rule, port: 81 } });
    await succeed("/agent-mesh/acl/revoke", { as: agent, body: { ...rule, port: 81 } });
  }
  await operatorRpc("set_agent_tags", { agent_id: agent.id, tags: ["tag:builder"] });
  const { enrolment_id } = await putEnrolment({
    kind: "key",
    uses_left: null,
    agent_id: agent.id,
    label: `for ${agent.id}`,
  });
  // An ended enrolment of other agents whose fields contain the agent's name.
  const ended = await putTrust(agent.id);
  await succeed("/agent-artifacts/enrolment/revoke", {
    as: "operator",
    body: { enrolment_id: ended },
  });
  await withStackDatabase(async (sql) => {
    await sql`insert into agents.enrolled_agents (agent_id, enrolment_id, generation, enrolled_at)
      values (${agent.id}, ${enrolment_id}, 1, now())`;
    await sql`insert into agents.former_holders (agent_id, enrolment_id)
      values (${agent.id}, ${enrolment_id})`;
    await sql`insert into agents.usage (agent_id, day, requests, refusals, artifacts, bytes, grants)
      values (${agent.id}, '2026-01-01', 1, 1, 1, 1, 1)`;
    await sql`insert into agents.refusals (agent_id, hour, kind, count)
      values (${agent.id}, '2026-01-01T00:00:00Z', 'forbidden', 1)`;
    await sql`insert into artifacts.agent_limits (agent_id, quota_bytes) values (${agent.id}, 1)`;
    await sql`update agents.keys set label = ${`key of ${agent.id}.`} where key_id = ${agent.keyId}`;
    await sql`update agents.keys set label = ${`asks ${agent.id}.`} where key_id = ${builder.keyId}`;
    await sql`insert into mesh.censuses (census, after_agent) values ('under way', ${agent.id})
      on conflict (census) do update set after_agent = excluded.after_agent`;
  });
}

async function putEnrolment(body: JsonObject): Promise<{ enrolment_id: string }> {
  return await succeed("/agent-artifacts/enrolment/put", { as: "operator", body });
}

/** Creates a trust for other agents with the name in every possible field. Returns its id. */
export async function putTrust(name: string): Promise<string> {
  const { jwk } = await newKey("ES256", `key-of-${name}`);
  const { enrolment_id } = await putEnrolment({
    kind: "trust",
    label: `asks ${name}, ${name}`,
    issuer: `https://example.com/${name}`,
    audience: `https://example.com/${name}`,
    jwks: { keys: [jwk as JsonObject] },
    conditions: [
      { claim: "sub", equals: name },
      { claim: "job", prefix: `asks/${name}/` },
      { claim: "attempt", equals: 1 },
    ],
    agent_template: `of-${name}-{run_id}`,
  });
  return enrolment_id;
}

export function castTest(
  name: string,
  test: (agent: Agent, builder: Agent) => Promise<void>,
): void {
  Deno.test(name, async () => {
    try {
      await test(await createAgent("Erasable.agent"), await createAgent("builder"));
    } finally {
      await endCreatedAgents();
    }
  });
}

/** 2,000 agents and 300 peers, like a large deployment. */
import type postgres from "postgres";
import { RENDERING_REVISION } from "../../supabase/functions/_shared/operations/waiting/config_version.ts";
import { withStackDatabase } from "../database/connection.ts";

export const CROWD_AGENTS = 2_000;
export const CROWD_PEERS = 300;

/** Kinds of agents by the beginning of their names, which is always "crowd-". */
const KINDS = [
  { stem: "crowd-ci-runner-", agents: 1_200, peers: 100 },
  { stem: "crowd-web-eu-", agents: 300, peers: 120 },
  { stem: "crowd-web-us-", agents: 300, peers: 60 },
  { stem: "crowd-db-", agents: 20, peers: 20 },
  { stem: "crowd-researcher-with-a-long-name-", agents: 180, peers: 0 },
] as const;

const OPERATOR = JSON.stringify({ kind: "operator", request_id: "crowd" });

/** Runs `test` while these agents exist. `beat` makes their peers online for 90 seconds. */
export async function withCrowd(
  test: (beat: () => Promise<void>) => Promise<void>,
): Promise<void> {
  await withStackDatabase(async (sql) => {
    try {
      for (const kind of KINDS) await fill(sql, kind);
      await connect(sql);
      await test(() => beat(sql));
    } finally {
      await sql`
        select public.agent_api_remove_agent(k.agent_id)
        from (select distinct agent_id from agents.keys where agent_id like 'crowd-%') k`;
    }
  });
}

async function fill(
  sql: postgres.Sql,
  { stem, agents, peers }: (typeof KINDS)[number],
): Promise<void> {
  await sql`
    select public.agent_api_create_agent_key(${stem} || lpad(n::text, 4, '0'), 'made for a test')
    from generate_series(1, ${agents}::integer) n`;
  await sql`
    select public.agent_api_register_peer(
      ${OPERATOR}::text::jsonb, named.agent_id,
      encode(set_byte(digest, 31, get_byte(digest, 31) & 127), 'base64'),
      '198.51.100.1:51820', '198.51.100.1', 51820, 90
    )
    from generate_series(1, ${peers}::integer) n
    cross join lateral (select ${stem} || lpad(n::text, 4, '0')) named (agent_id)
    cross join lateral (select sha256(convert_to(named.agent_id, 'UTF8'))) hashed (digest)`;
}

/** Sends heartbeats: of ten peers, two send none, and one reports an old configuration. */
async function beat(sql: postgres.Sql): Promise<void> {
  await sql`
    select public.agent_api_record_heartbeat(
      ${OPERATOR}::text::jsonb, p.agent_id,
      v.version + ${RENDERING_REVISION}::integer - case when p.agent_id like '%7' then 1 else 0 end
    )
    from mesh.peers p
    join mesh.config_versions v using (agent_id)
    where p.agent_id like 'crowd-%' and p.agent_id not similar to '%[05]'`;
}

/** Every web server reaches two databases, and every runner one web server. */
async function connect(sql: postgres.Sql): Promise<void> {
  await sql`
    select public.agent_api_put_rule(
      ${OPERATOR}::text::jsonb, rule.from_agent, rule.to_agent, rule.port, 'tcp'
    )
    from (
      select 'crowd-web-eu-' || lpad(n::text, 4, '0'),
        'crowd-db-' || lpad((n % 20 + 1)::text, 4, '0'), 5432
      from generate_series(1, 120) n
      union all
      select 'crowd-web-us-' || lpad(n::text, 4, '0'),
        'crowd-db-' || lpad((n % 20 + 1)::text, 4, '0'), 5432
      from generate_series(1, 60) n
      union all
      select 'crowd-ci-runner-' || lpad(n::text, 4, '0'),
        'crowd-web-eu-' || lpad(n::text, 4, '0'), 443
      from generate_series(1, 100) n
    ) rule (from_agent, to_agent, port)`;
}

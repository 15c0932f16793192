import assert from "node:assert/strict";
import type postgres from "postgres";
import type { DefaultPrivileges } from "../../../packages/local/postgres/platform.ts";
import { positionAt } from "../changes/positions.ts";
import { callAsService, withProjectDatabase } from "../connection.ts";

const OUTSIDERS = ["anon", "authenticated"];
/** Schemas of the platform. Every other schema belongs to the project and is checked. */
const PLATFORM_SCHEMAS = [
  "extensions",
  "information_schema",
  "pg_catalog",
  "pg_toast",
  "storage",
  "supabase_migrations",
];
/** What runs as its owner, and why that opens nothing: the comment in its body says so. */
const DEFINERS = ["agents.open_writers(integer)", "agents.kick_deliveries()"];
/**
 * Functions whose body is text that the planner inlines, which a search_path would prevent. Every
 * name in it is qualified, or one of PostgreSQL's own.
 */
const INLINED_TEXTS = new Set(["artifacts.object_versions()"]);
const OPERATOR = { kind: "operator", request_id: "test" };

/**
 * All functions that the project's migrations created, from the catalogue, so that no new one is
 * forgotten.
 */
async function projectFunctions(sql: postgres.Sql) {
  return await sql<
    {
      oid: number;
      name: string;
      schema: string;
      definer: boolean;
      config: string[] | null;
      has_fixed_names: boolean;
      comment: string | null;
    }[]
  >`
    select p.oid, p.oid::regprocedure::text as name, n.nspname as schema, p.prosecdef as definer,
      p.proconfig as config, p.prosqlbody is not null as has_fixed_names, obj_description(p.oid, 'pg_proc') as comment
    from pg_proc p
    join pg_namespace n on n.oid = p.pronamespace
    where n.nspname not in ${sql(PLATFORM_SCHEMAS)}
      and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
    order by 2`;
}

async function projectRelations(sql: postgres.Sql) {
  return await sql<
    {
      oid: number;
      name: string;
      kind: string;
      secured: boolean;
      asCaller: boolean;
      policies: number;
      comment: string | null;
    }[]
  >`
    select c.oid, c.oid::regclass::text as name, c.relkind as kind, c.relrowsecurity as secured,
      coalesce('security_invoker=true' = any (c.reloptions), false) as "asCaller",
      (select count(*)::integer from pg_policy y where y.polrelid = c.oid) as policies,
      obj_description(c.oid, 'pg_class') as comment
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    where n.nspname not in ${sql(PLATFORM_SCHEMAS)} and c.relkind in ('r', 'p', 'v', 'm', 'S', 'f')
    order by 2`;
}

for (const defaultPrivileges of ["older", "newer"] satisfies DefaultPrivileges[]) {
  const where = `under ${defaultPrivileges} default privileges`;

  Deno.test(`anon and authenticated can execute no function of the project, ${where}`, async () => {
    await withProjectDatabase({ defaultPrivileges }, async (sql) => {
      const functions = await projectFunctions(sql);
      assert.ok(functions.length > 15);
      for (const role of OUTSIDERS) {
        const executable = await sql`
          select p.oid::regprocedure::text as name from pg_proc p
          where p.oid in ${sql(functions.map((found) => found.oid))}
            and has_function_privilege(${role}, p.oid, 'execute')`;
        assert.deepEqual(executable.map((found) => found["name"]), []);
      }
      for (const role of OUTSIDERS) {
        await assert.rejects(
          sql.begin(async (transaction) => {
            await transaction.unsafe(`set local role ${role}`);
            await transaction`select public.agent_api_create_agent_key('intruder')`;
          }),
          /permission denied for function agent_api_create_agent_key/,
        );
      }
      assert.equal((await sql`select from agents.keys`).length, 0);
    });
  });

  Deno.test(`anon and authenticated can neither read nor change a table, nor enter a schema, ${where}`, async () => {
    await withProjectDatabase({ defaultPrivileges }, async (sql) => {
      const relations = await projectRelations(sql);
      assert.ok(relations.length >= 4);
      for (const role of OUTSIDERS) {
        for (const { oid, name, kind } of relations) {
          const [found] = kind === "S"
            ? await sql`select has_sequence_privilege(${role}, ${oid}::oid, 'usage, select, update') as allowed`
            : await sql`
              select has_table_privilege(${role}, ${oid}::oid,
                'select, insert, update, delete, truncate, references, trigger')
                or has_any_column_privilege(${role}, ${oid}::oid, 'select, insert, update, references') as allowed`;
          assert.equal(found!["allowed"], false, `${role} on ${name}`);
        }
        const schemas = await sql`
          select n.nspname from pg_namespace n
          where n.nspname not in ${
          sql(PLATFORM_SCHEMAS)
        } and n.nspname <> 'public' and has_schema_privilege(${role}, n.oid, 'usage, create')`;
        assert.equal(schemas.length, 0);
      }
    });
  });

  Deno.test(`service_role can do the whole life of an artifact, ${where}`, async () => {
    await withProjectDatabase({ defaultPrivileges }, async (sql) => {
      const artifact_id = `art_${"1".repeat(32)}`;
      const caller = OPERATOR;
      const sha256 = "0".repeat(64);
      const registration = {
        key: "k",
        mime: "text/plain",
        size: 5,
        ttl_days: 1,
        quota_bytes: 0,
        max_pending: 1,
      };
      await callAsService(sql, "create_agent_key", { agent_id: "planner" });
      await callAsService(sql, "register_artifact", {
        caller,
        artifact_id,
        agent_id: "planner",
        ...registration,
      });
      await sql`insert into storage.objects (bucket_id, name) values ('agent-artifacts', ${`incoming/${artifact_id}`})`;
      const begun = await callAsService<{ lease_token: string }>(sql, "begin_commit", {
        caller,
        artifact_id,
        sha256,
        lease_seconds: 60,
      });
      const finished = await callAsService(sql, "finish_commit", {
        caller,
        artifact_id,
        lease_token: begun.lease_token,
        expected_sha256: sha256,
        observed_size: 5,
        observed_sha256: sha256,
      });
      assert.equal(finished["verdict"], "committed");
      await callAsService(sql, "grant_artifact", {
        caller,
        artifact_id,
        to_agent: "builder",
        expires_at: "2999-01-01T00:00:00Z",
        grant_id: `grant_${"1".repeat(32)}`,
        token_hash: sha256,
        max_live_grants: 1,
      });
      const window_seconds = 60;
      await callAsService(sql, "redeem_grant_token", {
        caller: { kind: "grant_token", request_id: "test" },
        token_hash: sha256,
        window_seconds,
      });
      await callAsService(sql, "open_artifact", { caller, artifact_id, window_seconds });
      const inbox = { caller, agent_id: "builder", max_entries: 10, after_grant_id: null };
      assert.equal(
        ((await callAsService(sql, "list_inbox", inbox))["grants"] as unknown[]).length,
        1,
      );
      const list = { caller, agent_id: "planner", prefix: "", max_entries: 10, after_key: null };
      assert.equal(
        ((await callAsService(sql, "list_artifacts", list))["artifacts"] as unknown[]).length,
        1,
      );
      const sender = { caller, agent_id: "builder", from_agent: "planner" };
      await callAsService(sql, "block_sender", { ...sender, max_blocked: 1 });
      await callAsService(sql, "unblock_sender", sender);
      const given = { caller, agent_id: "planner", artifact_id: null, to_agent: null };
      const grants = await callAsService(sql, "list_grants", {
        ...given,
        max_entries: 10,
        cursor: null,
      });
      assert.equal((grants["grants"] as unknown[]).length, 1);
      const types = ["grant.created"];
      const feed = { caller, agent_id: "builder", types, max_entries: 10, after: null };
      assert.equal(
        ((await callAsService(sql, "list_events", feed))["events"] as unknown[]).length,
        1,
      );
      const wait = {
        kind: "inbox",
        caller,
        agent_id: "builder",
        after: await positionAt(sql, "3:3:"),
      };
      const changes = await callAsService(sql, "find_changes", { waits: sql.json([wait]) });
      assert.deepEqual(changes["changed"], [0]);
      await callAsService(sql, "revoke_grants", {
        caller,
        artifact_id,
        to_agent: "builder",
        grant_id: null,
      });
      await callAsService(sql, "release_commit", { artifact_id, lease_token: begun.lease_token });
      await callAsService(sql, "delete_artifact", { caller, artifact_id });
      await callAsService(sql, "revoke_agent_keys", { agent_id: "planner" });
      await callAsService(sql, "check_health", {});
    });
  });
}

Deno.test("service_role can execute every function of the project, and cannot change the event log", async () => {
  await withProjectDatabase({ defaultPrivileges: "newer" }, async (sql) => {
    for (const { oid, name, schema } of await projectFunctions(sql)) {
      const [found] =
        await sql`select has_function_privilege('service_role', ${oid}::oid, 'execute') as allowed`;
      if (schema === "public") assert.equal(found!["allowed"], true, name);
    }
    await assert.rejects(
      sql.begin(async (transaction) => {
        await transaction`set local role service_role`;
        await transaction`delete from agents.events`;
      }),
      /append-only/,
    );
  });
});

Deno.test("every function but those listed runs as its caller, with an empty search_path or an SQL-standard body, and says what it does", async () => {
  await withProjectDatabase({}, async (sql) => {
    for (const { name, definer, config, has_fixed_names, comment } of await projectFunctions(sql)) {
      assert.equal(definer, DEFINERS.includes(name), `${name} is security definer`);
      assert.ok(
        has_fixed_names || INLINED_TEXTS.has(name) || config?.includes('search_path=""'),
        `${name} has no empty search_path`,
      );
      assert.ok(comment, `${name} has no comment`);
    }
  });
});

Deno.test("every table has row level security, no policy, and a comment; none is in public", async () => {
  await withProjectDatabase({}, async (sql) => {
    for (
      const { name, kind, secured, asCaller, policies, comment } of await projectRelations(sql)
    ) {
      if (kind === "S") continue;
      // A view has no row level security, so it must run as its caller, under that of its tables.
      assert.equal(kind === "v" ? asCaller : secured, true, name);
      assert.equal(policies, 0, name);
      assert.ok(comment, `${name} has no comment`);
      assert.ok(name.includes("."), `${name} lies in public`);
    }
  });
});

Deno.test("every text column that identifies or sorts is in byte order", async () => {
  await withProjectDatabase({}, async (sql) => {
    const sortedByLocale = await sql`
      select a.attrelid::regclass || '.' || a.attname as column
      from pg_index i
      join pg_class c on c.oid = i.indrelid
      join pg_namespace n on n.oid = c.relnamespace
      join pg_attribute a on a.attrelid = c.oid and a.attnum = any (i.indkey)
      where n.nspname not in ${sql(PLATFORM_SCHEMAS)} and a.attcollation <> 0
        and a.attcollation <> (select o.oid from pg_collation o where o.collname = 'C')`;
    assert.deepEqual(sortedByLocale.map((found) => found["column"]), []);
  });
});

Deno.test("the event log refuses to be changed, by its owner and the superuser too", async () => {
  await withProjectDatabase({}, async (sql) => {
    await callAsService(sql, "create_agent_key", { agent_id: "planner" });
    for (const change of ["delete from", "truncate", "update"]) {
      const statement = `${change} agents.events ${change === "update" ? "set action = 'x'" : ""}`;
      await assert.rejects(sql.unsafe(statement), /append-only/);
    }
    assert.equal((await sql`select from agents.events`).length, 1);
  });
});

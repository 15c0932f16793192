import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../packages/local/project.ts";
import type postgres from "postgres";
import {
  operatorRpc,
  post,
  PUBLISHABLE_KEY,
  SECRET_KEY,
  SUPABASE_URL,
} from "../conformance/client.ts";
import { publish } from "../conformance/artifacts.ts";
import { withProjectDatabase } from "../database/connection.ts";
import { startProxy } from "../own_function/proxy.ts";
import { newName, signIn } from "../users/signed_in.ts";
import { type Claims, claimsOf, written } from "../users/written_token.ts";
import { documentedBlock } from "./blocks/documentation.ts";
import { Terminal } from "./blocks/terminal.ts";

const FIRST_LIST = "From an empty project to the first list";

Deno.test("docs/users.md, the SQL that names a user's agent → beside what the app metadata had", async () => {
  const block = await documentedBlock(
    "docs/users.md, From an empty project to the first list, 1",
  );
  await withProjectDatabase({}, async (sql) => {
    // The part of Auth's table that the block uses.
    await sql.unsafe(`
      create schema auth;
      create table auth.users (email text, raw_app_meta_data jsonb);
      insert into auth.users values ('ada@example.com', '{"provider": "email"}'), ('ada@example.com', null),
        ('grace@example.com', '{}')`);
    await sql.unsafe(block);
    const users = await sql`select raw_app_meta_data as app from auth.users`;
    assert.deepEqual(
      users.map(({ app }) => JSON.stringify(app)).sort(),
      [
        '{"agent_id":"ada","provider":"email"}',
        '{"agent_id":"ada"}',
        "{}",
      ].sort(),
    );
  });
});

Deno.test("docs/users.md, the admin call that names a user's agent → as Auth takes it (internal/api/admin.go)", async () => {
  const id = crypto.randomUUID();
  await using project = startProxy(SUPABASE_URL, () => Response.json({ id }));
  await using terminal = await Terminal.open({
    environment: { SUPABASE_URL: project.url, SUPABASE_SECRET_KEY: SECRET_KEY, USER_ID: id },
  });
  await terminal.paste(
    await documentedBlock("docs/users.md, From an empty project to the first list, 2"),
  );
  const [{ method, path, headers, body }] = project.passed as [typeof project.passed[0]];
  assert.deepEqual([method, path], ["PUT", `/auth/v1/admin/users/${id}`]);
  assert.equal(headers.get("apikey"), SECRET_KEY);
  assert.deepEqual(JSON.parse(body), { app_metadata: { agent_id: "ada" } });
});

Deno.test(`docs/users.md, ${FIRST_LIST} → the list of the user who signs in`, async () => {
  const user = await signIn(newName("ada"));
  const { artifact_id } = await publish(user);
  // Auth's answer to a correct password (internal/api/token.go, AccessTokenResponse).
  const session = {
    access_token: user.key,
    token_type: "bearer",
    expires_in: 600,
    refresh_token: "none",
    user: { id: user.sub, aud: "authenticated" },
  };
  await using project = startProxy(
    SUPABASE_URL,
    ({ path }) => path === "/auth/v1/token" ? Response.json(session) : undefined,
  );
  const folder = await Deno.makeTempDir();
  const program = (await documentedBlock(
    "docs/users.md, From an empty project to the first list, 3",
  ))
    .replace("https://<ref>.supabase.co", project.url)
    .replace("sb_publishable_…", PUBLISHABLE_KEY!)
    // Print JSON, so that the test can parse it.
    .replace("console.log(error", "console.log(JSON.stringify(error")
    .replace(/\);\s*$/, "));\nDeno.exit();\n");
  await writeFile(join(folder, "list.js"), program);
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--allow-all",
      `--config=${join(PROJECT, "tests/deno.json")}`,
      join(folder, "list.js"),
    ],
  }).output();
  await Deno.remove(folder, { recursive: true });
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  const artifacts = JSON.parse(new TextDecoder().decode(stdout));
  assert.deepEqual(artifacts.map((listed: { artifact_id: string }) => listed.artifact_id), [
    artifact_id,
  ]);
  await operatorRpc("remove_agent", { agent_id: user.id });
});

Deno.test("docs/users.md, All users at once → a hook by which each user is an agent of their own", async () => {
  const block = await documentedBlock("docs/users.md, All users at once, 1");
  await withProjectDatabase({}, async (sql) => {
    await sql`create role supabase_auth_admin`;
    try {
      await sql.unsafe(block);
      const user_id = crypto.randomUUID();
      // Auth calls the hook this way (internal/hooks/v0hooks, CustomAccessTokenInput).
      const claims = { sub: user_id, app_metadata: { provider: "email" }, role: "authenticated" };
      const event = { user_id, claims, authentication_method: "password" };
      const answer = await sql.begin(async (transaction) => {
        await transaction`set local role supabase_auth_admin`;
        const [row] = await transaction`
          select public.every_user_is_an_agent(${transaction.json(event)}) as answer`;
        return row!["answer"];
      });
      const app_metadata = { provider: "email", agent_id: `user:${user_id}` };
      assert.deepEqual(answer, { ...event, claims: { ...claims, app_metadata } });
    } finally {
      await sql`drop owned by supabase_auth_admin`;
      await sql`drop role supabase_auth_admin`;
    }
  });
});

Deno.test("docs/users.md, Ask for a second factor → a token names an agent after a second factor alone", async () => {
  const block = await documentedBlock("docs/users.md, Ask for a second factor, 1");
  await withProjectDatabase({}, async (sql) => {
    await sql`create role supabase_auth_admin`;
    try {
      await sql.unsafe(block);
      const claims = claimsOf(newName("ada").id);
      // Auth calls the hook this way (internal/hooks/v0hooks, CustomAccessTokenInput).
      const claimsByHook = async (changed: Claims): Promise<Claims> => {
        const event = { user_id: claims["sub"], claims: changed };
        return await sql.begin(async (transaction) => {
          await transaction`set local role supabase_auth_admin`;
          const [row] = await transaction`
            select public.agents_need_a_second_factor(${json(transaction, event)}) as answer`;
          return row!["answer"].claims;
        });
      };
      const statusOf = async (changed: Claims) => {
        const authorization = `Bearer ${written(await claimsByHook(changed))}`;
        const answer = await post("/agent-artifacts/list", { as: { headers: { authorization } } });
        return answer.status;
      };
      const second = { ...claims, aal: "aal2" };
      assert.deepEqual(await claimsByHook(second), second);
      assert.equal(await statusOf(second), 200);
      for (const aal of ["aal1", "aal3", "", null, undefined, 2, ["aal2"]]) {
        const first = { ...claims, aal };
        const app_metadata = {};
        assert.deepEqual(await claimsByHook(first), { ...parsed(first), app_metadata });
        assert.equal(await statusOf(first), 401, String(aal));
      }
      for (const app_metadata of [undefined, null, { provider: "email" }]) {
        const nobody = { ...claims, app_metadata, aal: "aal1" };
        assert.deepEqual(await claimsByHook(nobody), parsed(nobody));
      }
    } finally {
      await sql`drop owned by supabase_auth_admin`;
      await sql`drop role supabase_auth_admin`;
    }
  });
});

/** The value after a round trip through JSON. */
function parsed(value: Claims): Claims {
  return JSON.parse(JSON.stringify(value));
}

function json(sql: postgres.TransactionSql, value: object) {
  return sql.json(JSON.parse(JSON.stringify(value)));
}

Deno.test("docs/users.md, Revoke → the agent's users are let in again", async () => {
  const block = await documentedBlock("docs/users.md, Revoke, 1");
  await withProjectDatabase({}, async (sql) => {
    await sql`select public.agent_api_remove_agent('ada')`;
    await sql.unsafe(block);
    assert.deepEqual([...await sql`select from agents.removed_agents`], []);
  });
});

Deno.test("docs/users.md, On the local stack → a token, and the list", async () => {
  await using terminal = await Terminal.open();
  const block = (await documentedBlock("docs/users.md, On the local stack, 1"))
    .replace("http://127.0.0.1:54321", SUPABASE_URL)
    .replace("user token ada", `user token ${newName("ada").id}`);
  assert.equal((await terminal.paste(block)).trim(), '{"artifacts":[],"next_cursor":null}');
});

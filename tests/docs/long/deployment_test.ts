import assert from "node:assert/strict";
import { documentedBlock, listPages, proseOf, readPage } from "../blocks/documentation.ts";
import { filledIn } from "../blocks/placeholders.ts";
import { Terminal } from "../blocks/terminal.ts";
import { openHostedProject } from "./hosted_project.ts";

Deno.test("README, Deploy, then docs/deployment.md, Upgrade and Take it down → as they say", async () => {
  await using project = await openHostedProject();
  const { terminal, database } = project;
  const applied = () => database.sql`select from supabase_migrations.schema_migrations`;

  const pushed = await terminal.paste(filledIn(await documentedBlock("README.md, Deploy, 1")));
  assert.match(pushed, /Applying migration /);
  const migrations = (await applied()).length;
  assert.ok(migrations > 0);

  const deployed = await terminal.paste(filledIn(await documentedBlock("README.md, Deploy, 2")));
  assert.ok(deployed.trimEnd().endsWith('{"status":"ok"}'), deployed);
  const secret = project.secrets.get("PSK_ENCRYPTION_KEYS");
  assert.match(secret ?? "", /^[A-Za-z0-9+/]{43}=$/);
  assert.equal(await terminal.paste("cat ~/psk.env"), `PSK_ENCRYPTION_KEYS=${secret}\n`);
  assert.deepEqual([...project.functions].sort(), ["agent-artifacts", "agent-mesh"]);

  const setting = filledIn(await documentedBlock("docs/deployment.md, Change a setting, 1"));
  await terminal.paste(setting);
  assert.equal(project.secrets.get("ARTIFACTS_MAX_TTL_DAYS"), "30");

  const upgrade = filledIn(await documentedBlock("docs/deployment.md, Upgrade, 1"));
  assert.match(await terminal.paste(upgrade), /up to date/);
  assert.equal((await applied()).length, migrations);

  await terminal.paste(filledIn(await documentedBlock("docs/deployment.md, Take it down, 1")));
  assert.deepEqual([...project.functions], []);
  assert.deepEqual([...project.secrets.keys()], ["ARTIFACTS_MAX_TTL_DAYS"]);
});

Deno.test("docs/deployment.md, A project that is in use already → its history stays, ours is added", async () => {
  await using project = await openHostedProject();
  const { terminal, database } = project;
  // The project has one migration that is older than the service's, and one that is newer.
  await database.sql.unsafe(`
    create schema supabase_migrations;
    create table supabase_migrations.schema_migrations (
      version text primary key, statements text[], name text
    );
    insert into supabase_migrations.schema_migrations values
      ('20200101000000', '{create table public.notes (id bigint)}', 'notes'),
      ('20991231235959', '{create table public.tags (id bigint)}', 'tags')`);
  const push = filledIn(
    await documentedBlock("docs/deployment.md, A project that is in use already, 1"),
  );
  assert.match(await terminal.paste(push), /Applying migration /);
  const names = (await database.sql`
    select name from supabase_migrations.schema_migrations order by version`)
    .map(({ name }) => name);
  assert.deepEqual([names.at(0), names.at(-1)], ["notes", "tags"]);
  assert.ok(names.length > 2, "the service's own");
});

Deno.test("the Supabase CLI that the documentation names → the one that the tests run", async () => {
  await using terminal = await Terminal.open();
  const version = (await terminal.paste("npx supabase@any --version")).trim();
  assert.ok((await readPage("README.md")).includes(`npx supabase@${version} `), version);
});

Deno.test("every command of the Supabase CLI within a sentence → there is one", async () => {
  await using terminal = await Terminal.open();
  const commands = new Set<string>();
  for (const page of await listPages()) {
    for (
      const [, code] of proseOf(await readPage(page)).matchAll(
        /`(?:npx )?supabase(?:@[\d.]+)? ([^`]+)`/g,
      )
    ) {
      commands.add(code!);
    }
  }
  assert.ok(commands.size > 0);
  for (const command of commands) {
    const words = command.split(" ");
    const options = words.filter((word) => word.startsWith("--"));
    const name = words.slice(0, words.findIndex((word) => word.startsWith("-")) >>> 0);
    const help = await terminal.paste(`npx supabase@any ${name.join(" ")} --help`);
    assert.ok(help.includes(`supabase ${name.join(" ")}`), help);
    for (const option of options) assert.ok(help.includes(option), `${command}\n${help}`);
  }
});

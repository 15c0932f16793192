import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { AGENT_ID, TAG } from "../../supabase/functions/_shared/identity/named_ids.ts";
import { filesBelow, PROJECT } from "./rooms.ts";

/** The only files besides SQL that may contain a rule. Each client is independent of the rest. */
const PLACES = [
  "supabase/functions/_shared/identity/named_ids.ts",
  "packages/agent-files/transfer/names.ts",
  "clients/python/agent_files/_names.py",
];

const RULES = {
  "an agent_id": { rule: AGENT_ID, begins: "[A-Za-z0-9][A-Za-z0-9._:@-]", sql: "agents.sql" },
  "a tag": { rule: TAG, begins: "tag:[a-z0-9][a-z0-9-]", sql: "tags.sql" },
};

for (const [name, { rule, begins, sql }] of Object.entries(RULES)) {
  Deno.test(`the rule of ${name} → one constant, one SQL function, and the same in each client`, async () => {
    const houses = [
      "supabase/functions",
      "supabase/schemas",
      "clients",
      "packages",
      "dev",
    ];
    const files = (await Promise.all(houses.map(filesBelow))).flat()
      .filter((file) =>
        /\.(?:ts|sql|py)$/.test(file) && !/\/(?:dist|node_modules|tests)\//.test(file)
      );
    const found: string[] = [];
    for (const file of files) {
      const text = await readFile(join(PROJECT, file), "utf8");
      if (text.includes(begins)) found.push(file);
      if (PLACES.includes(file)) assert.ok(text.includes(rule.source.slice(1, -1)), file);
    }
    assert.deepEqual(found.sort(), [...PLACES, `supabase/schemas/agents/${sql}`].sort());
  });
}

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { PAGES, writePage } from "../../../dev/documents/page.ts";
import { PROJECT } from "../../../packages/local/project.ts";

for (const page of PAGES) {
  Deno.test(`the table and "Fields" of ${page.file} → what \`deno task client:types\` makes of the operations of ${page.name}`, async () => {
    const text = await readFile(join(PROJECT, page.file), "utf8");
    assert.equal(text, await writePage(text, page));
  });

  Deno.test(`writePage() of ${page.file} without a mark → throws, and names the mark`, async () => {
    const text = await readFile(join(PROJECT, page.file), "utf8");
    for (const mark of ["<!-- operations -->", "<!-- /operations -->", "<!-- /fields -->"]) {
      await assert.rejects(
        writePage(text.replace(mark, ""), page),
        ({ message }) => message.includes(mark),
      );
    }
  });
}

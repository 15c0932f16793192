import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { PAGES, writePage } from "../../../dev/documents/page.ts";
import { PROJECT } from "../../../packages/local/project.ts";

for (const page of PAGES) {
  const marks = Object.keys(page.parts);

  Deno.test(`${page.file}, its parts ${marks.join(", ")} → what \`deno task client:types\` writes there`, async () => {
    const text = await readFile(join(PROJECT, page.file), "utf8");
    assert.equal(text, await writePage(text, page));
  });

  Deno.test(`writePage() of ${page.file} without a mark → throws, and names the mark`, async () => {
    const text = await readFile(join(PROJECT, page.file), "utf8");
    for (const mark of marks.flatMap((mark) => [`<!-- ${mark} -->`, `<!-- /${mark} -->`])) {
      await assert.rejects(
        writePage(text.replace(mark, ""), page),
        ({ message }) => message.includes(mark),
      );
    }
  });
}

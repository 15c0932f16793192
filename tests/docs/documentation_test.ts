import assert from "node:assert/strict";
import { readdir, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { PROJECT } from "../../packages/local/project.ts";
import { listPages, proseOf, readBlocks, readPage } from "./blocks/documentation.ts";
import { BLOCK_EXCEPTIONS, COMMAND_EXCEPTIONS, RUN_ELSEWHERE } from "./blocks/exceptions.ts";

/** Diagrams are drawn, not run. */
const DRAWN = "mermaid";
const README_LINES = 132;
const SCREEN_COLUMNS = 100;

/** The ids of the blocks that the tests of this folder run. */
async function findRunBlocks(): Promise<string[]> {
  const files = (await readdir(import.meta.dirname!, { recursive: true }))
    .filter((file) => file.endsWith("_test.ts"));
  const ids = await Promise.all(files.map(async (file) => {
    const source = await readFile(join(import.meta.dirname!, file), "utf8");
    return Array.from(
      source.matchAll(/documentedBlock\(\s*"([^"]+)",?\s*\)/g),
      ([, id]) => id!,
    );
  }));
  return ids.flat();
}

/** All inline code in the sentences and tables of all pages. */
async function listCodeSpans(): Promise<{ page: string; code: string }[]> {
  const pages = await Promise.all((await listPages()).map(async (page) => {
    const spans = proseOf(await readPage(page)).matchAll(/`([^`\n]+)`/g);
    return Array.from(spans, ([, code]) => ({ page, code: code! }));
  }));
  return pages.flat();
}

/** The anchors that GitHub creates for headings. */
function anchorsOf(markdown: string): string[] {
  return Array.from(
    proseOf(markdown).matchAll(/^#+ (.+)$/gm),
    ([, heading]) => heading!.toLowerCase().replaceAll(/[^\w\- ]/g, "").replaceAll(" ", "-"),
  );
}

Deno.test("every block of the documentation → run by a test, or listed with the reason why not", async () => {
  const blocks = (await readBlocks()).filter(({ language }) => language !== DRAWN);
  const listed = [...RUN_ELSEWHERE, ...BLOCK_EXCEPTIONS].map(({ what }) => what);
  const known = [...await findRunBlocks(), ...listed].sort();
  assert.deepEqual(known, [...new Set(known)], "each once");
  assert.deepEqual(blocks.map(({ id }) => id).sort(), known);
});

Deno.test("every block that a test of another folder runs → by a test that is there and reads that page", async () => {
  for (const { what, test } of RUN_ELSEWHERE) {
    const [page = ""] = what.split(", ");
    const source = await readFile(join(PROJECT, test), "utf8");
    assert.ok(
      source.includes(page.split("/").slice(-2).join("/")),
      `${test} does not read ${page}`,
    );
  }
});

Deno.test("every block that is not run → begins as its exception says", async () => {
  const blocks = new Map((await readBlocks()).map(({ id, text }) => [id, text]));
  for (const { what, begins } of BLOCK_EXCEPTIONS) {
    assert.ok(blocks.get(what)?.startsWith(begins), `${what} does not begin with "${begins}"`);
  }
});

Deno.test("every command within a sentence → a task, one of the Supabase CLI, or listed with the reason why not", async () => {
  const command = /^(?:[A-Z_]+=\S* )*(?:npx|deno|supabase|curl|nft|psql|docker|sh|bash) \S/;
  const commands = (await listCodeSpans()).filter(({ code }) => command.test(code));
  const checked =
    /^(?:[A-Z_]+=\S* )*(?:(?:npx -y )?deno(?:@[\d.]+)? task|(?:npx )?supabase(?:@[\d.]+)? \S)/;
  const unchecked = commands.map(({ code }) => code).filter((code) => !checked.test(code));
  assert.deepEqual([...new Set(unchecked)].sort(), COMMAND_EXCEPTIONS.map(({ what }) => what));
});

Deno.test("every task that the documentation names → is one; every task → is in docs/development.md", async () => {
  const { tasks } = JSON.parse(await readFile(join(PROJECT, "deno.json"), "utf8"));
  const texts = await Promise.all((await listPages()).map(readPage));
  const named = texts.flatMap((text) =>
    Array.from(text.matchAll(/(?:deno|deno@[\d.]+) task ([\w:-]*\w)/g), ([, task]) => task!)
  );
  assert.deepEqual(named.filter((task) => !(task in tasks)), []);
  const [, section] = (await readPage("docs/development.md")).split("## Tasks\n");
  const rows = section!.split("\n## ")[0]!.matchAll(/^\| `([\w:]+(?:-\w+)*)`/gm);
  assert.deepEqual(Array.from(rows, ([, task]) => task).sort(), Object.keys(tasks).sort());
});

Deno.test("every command by npx → names one version of Deno, one of the Supabase CLI, and nothing else", async () => {
  const texts = await Promise.all((await listPages()).map(readPage));
  const packages = texts.flatMap((text) =>
    Array.from(text.matchAll(/\bnpx (?:-y )?([a-z][^\s`]*)/g), ([, name]) => name!)
  );
  const [deno, supabase, ...others] = [...new Set(packages)].sort();
  assert.match(deno!, /^deno@\d+\.\d+\.\d+$/);
  assert.match(supabase!, /^supabase@\d+\.\d+\.\d+$/);
  assert.deepEqual(others, []);
});

Deno.test("every link between pages → leads to a file, and to a heading that is there", async () => {
  const broken: string[] = [];
  for (const page of await listPages()) {
    for (const [, target = ""] of (await readPage(page)).matchAll(/\]\(([^)]+)\)/g)) {
      if (/^https?:/.test(target)) continue;
      const [path, anchor] = target.split("#") as [string, string | undefined];
      const file = path === "" ? page : join(dirname(page), path);
      const isThere = await stat(join(PROJECT, file)).then(() => true, () => false);
      const leads = isThere &&
        (anchor === undefined || anchorsOf(await readPage(file)).includes(anchor));
      if (!leads) broken.push(`${page}: ${target}`);
    }
  }
  assert.deepEqual(broken, []);
});

Deno.test("README and tables → fit on the screens that they are written for", async () => {
  assert.ok((await readPage("README.md")).trimEnd().split("\n").length <= README_LINES);
  for (const page of await listPages()) {
    const rows = (await readPage(page)).split("\n").filter((line) => line.startsWith("|"));
    assert.deepEqual(rows.filter((row) => Array.from(row).length > SCREEN_COLUMNS), [], page);
  }
});

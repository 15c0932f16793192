import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../../../packages/local/project.ts";
import { type FieldSchema, readFields } from "./requests.ts";

const PAGES = { "agent-artifacts": "docs/artifacts.md", "agent-mesh": "docs/mesh.md" } as const;

/** One item of a page's section `## Fields`. */
interface Rule {
  readonly fields: readonly string[];
  readonly text: string;
  readonly valid: readonly unknown[];
  readonly invalid: readonly unknown[];
}

/** The items have this form: ``- **`key`**, a name: the rule. Valid: `a`. Invalid: `b`.`` */
function rulesOf(page: string): Rule[] {
  const [, section = ""] = page.split("\n## Fields\n");
  const lines = section.split("\n## ")[0]!.split("\n").filter((line) => line.startsWith("- "));
  return lines.map((line) => {
    const [, names = "", rest = ""] = /^- \*\*(.+?)\*\*(.+)$/.exec(line) ?? [];
    const [positive = "", invalid = ""] = rest.split(" Invalid: ");
    const [text = "", valid = ""] = positive.split(" Valid: ");
    return {
      fields: codesIn(names),
      text,
      valid: codesIn(valid).map(valueOf),
      invalid: codesIn(invalid).map(valueOf),
    };
  });
}

function codesIn(markdown: string): string[] {
  return Array.from(markdown.matchAll(/`([^`]+)`/g), ([, code]) => code!);
}

/** The value of JSON; any other text as it is. */
function valueOf(code: string): unknown {
  try {
    return JSON.parse(code);
  } catch {
    return code;
  }
}

/** The bounds, defaults and enum values of a schema, which its rule has to mention. */
function figuresOf(schema: FieldSchema): unknown[] {
  const { minimum, maximum, minLength, maxLength, minItems, anyOf = [], items } = schema;
  const own = [minimum, maximum, minLength, maxLength, minItems, lengthIn(schema), schema.default];
  return [
    ...own.filter((figure) => figure !== undefined && figure !== "" && figure !== 2 ** 53 - 1),
    ...schema.enum ?? [],
    ...anyOf.flatMap(figuresOf),
    ...items ? figuresOf(items) : [],
  ];
}

/** The length of the longest text that fits such as `^[a-z]{64}$` or `^[a-z][a-z-]{0,127}$`. */
function lengthIn({ pattern = "" }: FieldSchema): number | undefined {
  const [, first, length] = /^\^(\[[^\]]+\])?\[[^\]]+\]\{(?:0,)?(\d+)\}\$$/.exec(pattern) ?? [];
  return length === undefined ? undefined : Number(length) + (first === undefined ? 0 : 1);
}

function says(text: string, figure: unknown): boolean {
  return new RegExp(`(?<![\\w.])${RegExp.escape(String(figure))}(?![\\w])`).test(text);
}

for (const name of ["agent-artifacts", "agent-mesh"] as const) {
  const page = PAGES[name];

  Deno.test(`"Fields" of ${page} → the fields that requests to ${name} have, each once`, async () => {
    const fields = new Set((await readFields(name)).map((field) => field.name));
    const described = rulesOf(await readFile(join(PROJECT, page), "utf8"))
      .flatMap(({ fields }) => fields);
    assert.deepEqual(described.sort(), [...fields].sort());
  });

  Deno.test(`what "Fields" of ${page} calls valid, invalid, a bound, a default or a choice → is so for the function and in its document`, async () => {
    const rules = rulesOf(await readFile(join(PROJECT, page), "utf8"));
    for (const field of await readFields(name)) {
      const rule = rules.find(({ fields }) => fields.includes(field.name));
      const words = `dev/documents/words/${name.replace("agent-", "")}.ts`;
      assert.ok(rule, `${field.where} has no rule in ${page}: write it in ${words}`);
      const { text, valid, invalid } = rule;
      assert.ok(invalid.length > 0, `${field.name} has nothing invalid`);
      for (const value of valid) {
        const where = `${field.where}: ${JSON.stringify(value)}`;
        assert.ok(field.zod.safeParse(value).success, `${where} is refused`);
        assert.ok(field.fits(value), `${where} is invalid by the document`);
      }
      for (const value of invalid) {
        const where = `${field.where}: ${JSON.stringify(value)}`;
        assert.ok(!field.zod.safeParse(value).success, `${where} is accepted`);
        assert.ok(!field.fits(value), `${where} is valid by the document`);
      }
      const missing = figuresOf(field.schema).filter((figure) => !says(text, figure));
      assert.deepEqual(missing, [], `${field.where}: not in ${page}`);
    }
  });
}

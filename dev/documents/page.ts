/** The parts of docs/artifacts.md and docs/mesh.md that are made from the operations. */
import { type FieldSchema, readFieldSchemas } from "./fields.ts";
import { type FunctionName, readOperations } from "./operations.ts";
import { ARTIFACTS_WORDS } from "./words/artifacts.ts";
import { MESH_WORDS } from "./words/mesh.ts";
import type { FieldWords, PageWords } from "./words/words.ts";

export interface WrittenPage {
  readonly name: FunctionName;
  readonly file: string;
  readonly words: PageWords<string, string>;
}

export const PAGES: readonly WrittenPage[] = [
  { name: "agent-artifacts", file: "docs/artifacts.md", words: ARTIFACTS_WORDS },
  { name: "agent-mesh", file: "docs/mesh.md", words: MESH_WORDS },
];

/** The text of a page with its marked parts written again. Throws if it lacks a mark. */
export async function writePage(text: string, { name, words }: WrittenPage): Promise<string> {
  const table = operationsTable(await readOperations(name), words.rows);
  const fields = fieldsList(await readFieldSchemas(name), words.fields);
  return between(between(text, "operations", table), "fields", fields);
}

/** Replaces what is between the marks `<!-- mark -->` and `<!-- /mark -->`. */
function between(text: string, mark: string, part: string): string {
  const [begin, end] = [`<!-- ${mark} -->`, `<!-- /${mark} -->`];
  const [start, stop] = [text.indexOf(begin), text.indexOf(end)];
  if (start < 0 || stop < start) throw new Error(`The page has no ${begin} with ${end} behind it.`);
  return `${text.slice(0, start)}${begin}\n\n${part}\n\n${text.slice(stop)}`;
}

function operationsTable(
  operations: Awaited<ReturnType<typeof readOperations>>,
  words: PageWords<string, string>["rows"],
): string {
  const rows = Array.from(operations).flatMap(([path, { callers }]) => {
    const row = words[path];
    return row ? [[`\`${path}\``, row, callers]] : [];
  });
  return table([["path", "what it does", "who may call it"], ...rows]);
}

/** A table in Markdown, as `deno fmt` formats it. */
function table([heads = [], ...rows]: readonly (readonly string[])[]): string {
  const widths = heads.map((head, column) =>
    Math.max(head.length, ...rows.map((row) => row[column]!.length))
  );
  const delimiters = widths.map((width) => "-".repeat(width));
  return [heads, delimiters, ...rows]
    .map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |`)
    .join("\n");
}

function fieldsList(
  schemas: ReadonlyMap<string, FieldSchema>,
  fields: PageWords<string, string>["fields"],
): string {
  return Object.entries(fields).flatMap(([field, words]) => {
    if (typeof words === "string") return [];
    const same = Object.keys(fields).filter((other) => fields[other] === field);
    const schema = schemas.get(field);
    if (schema === undefined) throw new Error(`No request has a field ${field}.`);
    return [`- **${codes([field, ...same])}**${describe(words, schema)}`];
  }).join("\n");
}

function describe({ alias, rule, valid, invalid }: FieldWords, schema: FieldSchema): string {
  const positive = valid.length === 0 ? "" : ` Valid: ${codes(valid)}.`;
  const name = alias === undefined ? "" : `, ${alias}`;
  return `${name}: ${filled(rule, schema)}${positive} Invalid: ${codes(invalid)}.`;
}

function filled(rule: string, schema: FieldSchema): string {
  const { minimum, maximum, minItems, enum: choices = [], items } = schema;
  const figures: Readonly<Record<string, unknown>> = {
    minimum,
    maximum,
    minItems,
    default: schema.default,
    choices: choices.map((choice) => `\`${choice}\``).join(" or "),
    items: codes(items?.enum ?? []),
  };
  return rule.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    if (figures[name] === undefined) throw new Error(`The schema has no ${name}: ${rule}`);
    return String(figures[name]);
  });
}

function codes(texts: readonly string[]): string {
  return texts.map((text) => `\`${text}\``).join(", ");
}

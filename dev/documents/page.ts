/** The parts of docs/ that are made from the operations and from the commands of `agentops`. */
import { commandsList } from "./commands.ts";
import { type FieldSchema, readFieldSchemas } from "./fields.ts";
import { type FunctionName, readOperations } from "./operations.ts";
import { ARTIFACTS_WORDS } from "./words/artifacts.ts";
import { MESH_WORDS } from "./words/mesh.ts";
import type { FieldWords, PageWords } from "./words/words.ts";

export interface WrittenPage {
  readonly file: string;
  /** What stands between the marks `<!-- mark -->` and `<!-- /mark -->`, by mark. */
  readonly parts: Readonly<Record<string, () => Promise<string>>>;
}

export const PAGES: readonly WrittenPage[] = [
  {
    file: "docs/artifacts.md",
    parts: {
      operations: () => operationsList("agent-artifacts"),
      fields: () => fieldsList("agent-artifacts", ARTIFACTS_WORDS),
    },
  },
  {
    file: "docs/mesh.md",
    parts: {
      operations: () => operationsList("agent-mesh"),
      fields: () => fieldsList("agent-mesh", MESH_WORDS),
    },
  },
  { file: "docs/operating.md", parts: { commands: commandsList } },
];

/** The text of a page with its marked parts written again. Throws if it lacks a mark. */
export async function writePage(text: string, { parts }: WrittenPage): Promise<string> {
  for (const [mark, write] of Object.entries(parts)) text = between(text, mark, await write());
  return text;
}

/** Replaces what is between two marks. */
function between(text: string, mark: string, part: string): string {
  const [begin, end] = [`<!-- ${mark} -->`, `<!-- /${mark} -->`];
  const [start, stop] = [text.indexOf(begin), text.indexOf(end)];
  if (start < 0 || stop < start) throw new Error(`The page has no ${begin} with ${end} behind it.`);
  return `${text.slice(0, start)}${begin}\n\n${part}\n\n${text.slice(stop)}`;
}

/** Without the operations that only the operator's tasks call. */
async function operationsList(name: FunctionName): Promise<string> {
  return Array.from(await readOperations(name)).filter(([, { isUnlisted }]) => !isUnlisted)
    .map(([path, { summary, callers }]) => `- \`${path}\` (${callers}): ${summary}`).join("\n");
}

async function fieldsList(name: FunctionName, fields: PageWords<string>): Promise<string> {
  const schemas = await readFieldSchemas(name);
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

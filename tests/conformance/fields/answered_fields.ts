/**
 * Which optional fields of answers a run of tests has seen. `deno task test` reads the files that
 * this writes, and fails if a field was in no answer of any test (dev/checks/answered_fields.ts).
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** The parts of a JSON schema that lead to fields. */
interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

/** What one process has seen, as dev/checks/answered_fields.ts reads it. */
interface SeenFields {
  readonly optional: readonly string[];
  readonly answered: readonly string[];
}

export class AnsweredFields {
  readonly #optional = new Set<string>();
  readonly #answered = new Set<string>();

  constructor(readonly document: object) {
    this.#walkDescriptions(document, []);
  }

  /** Notes the fields of a body that is valid under the schema at a pointer such as `#/a/b`. */
  note(pointer: string, body: unknown): void {
    this.#walkBody(pointer.slice(2).split("/").map(unescape), this.#at(pointer), body);
  }

  get seen(): SeenFields {
    return { optional: [...this.#optional], answered: [...this.#answered] };
  }

  /** Finds the optional fields of every named schema and of every answer. */
  #walkDescriptions(described: object, path: readonly string[]): void {
    const isSchema = path.at(-1) === "schema" && path.includes("responses") ||
      path.length === 3 && path[1] === "schemas";
    if (isSchema) return this.#walkSchema(path, described as Schema);
    for (const [name, below] of Object.entries(described)) {
      if (typeof below === "object" && below !== null && name !== "requestBody") {
        this.#walkDescriptions(below, [...path, name]);
      }
    }
  }

  #walkSchema(path: readonly string[], schema: Schema): void {
    for (const part of partsOf(schema)) this.#walkSchema(path, part);
    for (const [name, below] of Object.entries(schema.properties ?? {})) {
      const place = [...path, name];
      if (!schema.required?.includes(name)) this.#optional.add(nameOf(place));
      this.#walkSchema(place, below);
    }
  }

  #walkBody(path: readonly string[], schema: Schema, body: unknown): void {
    if (schema.$ref !== undefined) return this.note(schema.$ref, body);
    if (typeof body !== "object" || body === null) return;
    if (Array.isArray(body)) {
      for (const entry of body) {
        for (const part of partsOf(schema)) this.#walkBody(path, part, entry);
      }
      return;
    }
    for (const part of partsOf(schema)) this.#walkBody(path, part, body);
    for (const [name, below] of Object.entries(schema.properties ?? {})) {
      if (!Object.hasOwn(body, name)) continue;
      const place = [...path, name];
      this.#answered.add(nameOf(place));
      this.#walkBody(place, below, (body as Record<string, unknown>)[name]);
    }
  }

  #at(pointer: string): Schema {
    return pointer.slice(2).split("/").reduce<unknown>(
      (value, name) => (value as Record<string, unknown>)[unescape(name)],
      this.document,
    ) as Schema;
  }
}

/** Writes what a function's answers had to `ANSWERED_FIELDS`, a folder, when this process ends. */
export function writeAtEnd(functionName: string, fields: AnsweredFields): void {
  const folder = Deno.env.get("ANSWERED_FIELDS");
  if (!folder) return;
  const of = (names: readonly string[]) => names.map((name) => `${functionName} ${name}`);
  globalThis.addEventListener("unload", () => {
    const { optional, answered } = fields.seen;
    const text = JSON.stringify({ optional: of(optional), answered: of(answered) });
    writeFileSync(join(folder, `${crypto.randomUUID()}.json`), text);
  });
}

function partsOf({ items, anyOf = [], oneOf = [], allOf = [] }: Schema): readonly Schema[] {
  return [...items === undefined ? [] : [items], ...anyOf, ...oneOf, ...allOf];
}

/** The names in a JSON pointer that say nothing to a reader. */
const STRUCTURE = ["components", "schemas", "paths", "responses", "content", "schema"];

/** Such as `Event key`, or `/health get 200 application/json version`. */
function nameOf(path: readonly string[]): string {
  return path.filter((name) => !STRUCTURE.includes(name)).join(" ");
}

/** A name in a JSON pointer (RFC 6901). */
function unescape(name: string): string {
  return name.replaceAll("~1", "/").replaceAll("~0", "~");
}

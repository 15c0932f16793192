import type { ContractDocument } from "../../packages/operator/doctor/facts/openapi_document.ts";

/** The Python client's types of the contract: one TypedDict for each object in an answer. */
export const PYTHON_MODELS = [
  { name: "agent-artifacts", file: "clients/python/agent_files/models.py" },
  { name: "agent-mesh", file: "clients/python/agent_files/mesh_models.py" },
] as const;

const HEAD =
  `"""The answers of the service. Made by \`deno task client:types\` of the OpenAPI document.

Timestamps are texts such as \`2026-01-31T09:30:00.000Z\`. A field that is NotRequired is missing in
the answers of some releases.
"""

from __future__ import annotations

import sys
from typing import Literal, TypedDict

if sys.version_info >= (3, 11):
    from typing import NotRequired
else:
    from typing_extensions import NotRequired
`;

const WIDTH = 100;
/** An enumeration with more values is a str: releases add to it. */
const MOST_LITERALS = 8;

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
}

const WORDS: Readonly<Record<string, string>> = {
  string: "str",
  integer: "int",
  number: "float",
  boolean: "bool",
  null: "None",
};

/** The classes that the document does not name: another class without some of its fields. */
const PARTS = [
  { name: "Content", of: "Download", without: ["url", "expires_at"] },
] as const;

/** The Python source of the answers of a function. */
export function pythonModels({ paths, components }: ContractDocument): string {
  const classes = new Map<string, string>();
  for (const [name, schema] of Object.entries(components.schemas)) {
    if (name !== "ErrorBody") addClass(classes, name, schema);
  }
  for (const { name, of, without } of PARTS) {
    const { properties = {}, ...schema } = components.schemas[of] as Schema ?? {};
    const fields = Object.entries(properties).filter(([field]) =>
      !without.some((n) => n === field)
    );
    if (fields.length > 0) {
      addClass(classes, name, { ...schema, properties: Object.fromEntries(fields) });
    }
  }
  for (const [path, { get, post }] of Object.entries(paths)) {
    const operation = post ?? (path === "/whoami" ? get : undefined);
    const good = operation?.responses["200"]?.content as
      | { readonly "application/json"?: { readonly schema: Schema } }
      | undefined;
    const schema = good?.["application/json"]?.schema;
    if (schema?.properties === undefined) continue;
    addClass(classes, `${pascal(operation!.operationId)}Answer`, schema);
  }
  const names = [...classes.keys()].sort();
  const list = names.map((name) => `    "${name}",\n`).join("");
  return `${HEAD}\n__all__ = [\n${list}]\n\n${[...classes.values()].join("\n")}`;
}

/** Adds a class, after those that its fields need. */
function addClass(classes: Map<string, string>, name: string, schema: Schema): void {
  const fields = Object.entries(schema.properties ?? {}).map(([field, value]) => {
    const type = typeOf(classes, `${name}${pascal(field)}`, value);
    const isRequired = schema.required?.includes(field) ?? false;
    const line = `    ${field}: ${isRequired ? type : `NotRequired[${type}]`}\n`;
    return line + documented(value.description);
  });
  classes.set(name, `\nclass ${name}(TypedDict):\n${fields.join("")}`);
}

function typeOf(classes: Map<string, string>, name: string, schema: Schema): string {
  if (schema.$ref !== undefined) return schema.$ref.split("/").at(-1)!;
  if (schema.anyOf !== undefined) {
    const types = schema.anyOf.map((one) => typeOf(classes, name, one));
    return [...new Set(types)].join(" | ");
  }
  if (schema.const !== undefined) return literal([schema.const]);
  if (schema.enum !== undefined && schema.enum.length <= MOST_LITERALS) return literal(schema.enum);
  if (schema.type === "array") return `list[${typeOf(classes, name, schema.items ?? {})}]`;
  if (schema.type !== "object") return WORDS[schema.type ?? ""] ?? "Any";
  if (schema.properties === undefined) {
    const { additionalProperties: others } = schema;
    return `dict[str, ${typeof others === "object" ? typeOf(classes, name, others) : "Any"}]`;
  }
  addClass(classes, name, schema);
  return name;
}

function literal(values: readonly unknown[]): string {
  const words: Record<string, string> = { true: "True", false: "False", null: "None" };
  const said = values.map((value) => JSON.stringify(value));
  return `Literal[${said.map((value) => words[value] ?? value).join(", ")}]`;
}

/** The description as the docstring of a field, which editors show. */
function documented(description: string | undefined): string {
  if (description === undefined) return "";
  const lines = ['    """'];
  for (const word of description.replaceAll("\\", "\\\\").split(" ")) {
    const line = lines.at(-1)!;
    const isFirst = line === '    """' || line === "    ";
    if (line.length + word.length + 4 > WIDTH) lines.push(`    ${word}`);
    else lines[lines.length - 1] = isFirst ? line + word : `${line} ${word}`;
  }
  return `${lines.join("\n")}"""\n`;
}

function pascal(name: string): string {
  return name.replaceAll(/(?:^|_)([a-z])/g, (_, letter) => letter.toUpperCase());
}

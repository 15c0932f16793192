import {
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from "jsonc-parser";
import { CommandError } from "../../command/command_error.ts";
import { readNamedFile } from "../reads/named_file.ts";
import { policyFile, type PolicyRule, type PolicyTest } from "./schema.ts";

/** The content of a policy file. */
export interface Policy {
  /** The file's text, unchanged. */
  readonly source: string;
  readonly rules: readonly PolicyRule[];
  readonly tests: readonly PolicyTest[];
}

const MOST_BYTES = 256 * 1024;

/**
 * Reads a policy file; `-` is standard input. Throws CommandError with every fault and its place.
 */
export async function readPolicyFile(file: string): Promise<Policy> {
  return parsePolicy(await readNamedFile(file), file === "-" ? "standard input" : file);
}

/** Throws CommandError, with every fault as `name:line:column: sentence`. */
export function parsePolicy(source: string, name: string): Policy {
  if (new TextEncoder().encode(source).length > MOST_BYTES) {
    throw new CommandError(`${name} is larger than 256 KiB.`);
  }
  const faults: Fault[] = [];
  const errors: ParseError[] = [];
  const tree = parseTree(source, errors, { allowTrailingComma: true });
  for (const { error, offset } of errors) {
    faults.push({ offset, message: `Not JSON: ${printParseErrorCode(error)}.` });
  }
  if (tree !== undefined && faults.length === 0) {
    faults.push(...repeatedFields(tree));
    const parsed = policyFile.safeParse(getNodeValue(tree));
    if (parsed.success && faults.length === 0) return { source, ...parsed.data };
    for (const issue of parsed.error?.issues ?? []) {
      const path = issue.path as (string | number)[];
      // An unknown field is located by its name.
      const [unknown] = issue.code === "unrecognized_keys" ? issue.keys : [];
      faults.push({
        offset: offsetOf(tree, unknown === undefined ? path : [...path, unknown]),
        message: `${pathOf(path)}${issue.message}`,
      });
    }
  } else if (tree === undefined && faults.length === 0) {
    faults.push({ offset: 0, message: "Not JSON: the file is empty." });
  }
  faults.sort((one, other) => one.offset - other.offset);
  throw new CommandError(
    faults.map(({ offset, message }) => `${name}:${placeOf(source, offset)}: ${message}`).join(
      "; ",
    ),
  );
}

interface Fault {
  readonly offset: number;
  readonly message: string;
}

/** Refuses a field that appears twice: a reader might see one, while the parser takes the other. */
function repeatedFields(node: Node): Fault[] {
  const seen = new Set<string>();
  const faults: Fault[] = [];
  for (const child of node.children ?? []) {
    const [name] = node.type === "object" ? child.children ?? [] : [];
    if (name !== undefined && seen.has(name.value)) {
      faults.push({ offset: name.offset, message: `The field ${name.value} stands here twice.` });
    }
    if (name !== undefined) seen.add(name.value);
    faults.push(...repeatedFields(child));
  }
  return faults;
}

/** Where a value begins. If the value is missing, where its nearest parent begins. */
function offsetOf(tree: Node, path: readonly (string | number)[]): number {
  for (let length = path.length; length > 0; length--) {
    const node = findNodeAtLocation(tree, path.slice(0, length));
    if (node !== undefined) {
      return node.parent?.type === "property" ? node.parent.offset : node.offset;
    }
  }
  return tree.offset;
}

function pathOf(path: readonly (string | number)[]): string {
  return path.length === 0 ? "" : `${path.join(".")}: `;
}

/** `line:column`, from 1. */
function placeOf(source: string, offset: number): string {
  const before = source.slice(0, offset).split("\n");
  return `${before.length}:${before.at(-1)!.length + 1}`;
}

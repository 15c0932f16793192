/** Says what is wrong with a request. Loaded by the first request that is refused. */
import type * as z from "zod";
import { ServiceError } from "../errors.ts";
import { nearestField } from "./nearest_field.ts";

/** What is wrong with one field. */
export interface Issue {
  /** The field's name. Within an object or a list, dots join it to the names around it. */
  readonly path: string;
  readonly message: string;
}

/** The refusal of a body that `schema` does not accept: one issue for every bad field. */
export function invalidRequest(schema: z.ZodType, body: object): ServiceError {
  const issues: Issue[] = [...unknownFields(body, { known: [], among: ["__proto__"] })];
  const { error } = schema.safeParse(body, {
    // The issues themselves do not say which fields the object has.
    error(issue) {
      if (issue.code !== "unrecognized_keys") return undefined;
      const known = Object.keys((issue.inst as z.ZodObject).shape);
      const around = (issue.path ?? []).map(String);
      issues.push(...unknownFields(issue.input as object, { known, among: issue.keys, around }));
      return undefined;
    },
  });
  for (const { code, path, message } of error?.issues ?? []) {
    if (code !== "unrecognized_keys") issues.push({ path: path.join("."), message });
  }
  return refusalOf(issues);
}

/** A body of 64 KiB has room for thousands of issues, each longer than its field. */
const MAX_ISSUES = 100;

/** invalid_request with the first issue of each field. After MAX_ISSUES, one counts the others. */
export function refusalOf(issues: readonly Issue[]): ServiceError {
  const first = new Map<string, Issue>();
  for (const issue of issues) if (!first.has(issue.path)) first.set(issue.path, issue);
  const told = [...first.values()].slice(0, MAX_ISSUES);
  const more = first.size - told.length;
  if (more > 0) told.push({ path: "", message: `${more} more fields have issues.` });
  return new ServiceError("invalid_request", { details: { issues: told } });
}

/** Suggestions are for typing errors. A body of 64 KiB has room for thousands of names. */
const MAX_SUGGESTIONS = 16;

/** One issue for each field of `among` that `given` has and `known` lacks. */
export function unknownFields(
  given: object,
  { known, among = Object.keys(given), around = [] }: {
    readonly known: readonly string[];
    readonly among?: readonly string[];
    /** The names around the object. */
    readonly around?: readonly string[];
  },
): Issue[] {
  const unused = known.filter((field) => !Object.hasOwn(given, field));
  return among.filter((field) => Object.hasOwn(given, field) && !known.includes(field))
    .map((field, index) => {
      const meant = index < MAX_SUGGESTIONS ? nearestField(field, unused) : undefined;
      const suggestion = meant === undefined ? "" : ` Did you mean ${meant}?`;
      return { path: [...around, field].join("."), message: `Unknown field.${suggestion}` };
    });
}

import { type FieldIssue, invalidFields } from "../errors/agent_error.ts";

/** The service's rule for identifiers of agents. This package stands alone: it has its own copy. */
export const AGENT_ID: RegExp = /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$/;
/** The service's rule for tags. */
const TAG = /^tag:[a-z0-9][a-z0-9-]{0,62}$/;
const MOST_KEY_BYTES = 1024;

/** Who is to get access. */
export interface Grantees {
  readonly to?: readonly string[] | undefined;
  readonly toTags?: readonly string[] | undefined;
}

/**
 * Checks the key, the agents and the tags of an upload by the service's rules, before anything is
 * sent. Throws AgentError `invalid_request`.
 */
export function assertNames(
  { key, ...grantees }: Grantees & { readonly key: string },
): void {
  throwIssues([...keyIssues("key", key), ...granteeIssues(grantees)]);
}

/**
 * Like `assertNames`, but for several uploads to the same grantees. `keys` has the source and the
 * key of each. Also throws if two have the same key, because the second would replace the first.
 */
export function assertAllNames(
  { keys, ...grantees }: Grantees & {
    readonly keys: readonly (readonly [source: string, key: string])[];
  },
): void {
  const sources = new Map<string, string>();
  const issues: FieldIssue[] = [];
  for (const [source, key] of keys) {
    const path = keys.length === 1 ? "key" : `key of ${JSON.stringify(source)}`;
    const other = sources.get(key);
    if (other === undefined) sources.set(key, source);
    else {issues.push({
        path,
        message: `Is the same as that of ${JSON.stringify(other)}.`,
      });}
    issues.push(...keyIssues(path, key));
  }
  throwIssues([...issues, ...granteeIssues(grantees)]);
}

/** Checks all grantees, before the first one gets access. */
export function assertGrantees(grantees: Grantees): void {
  throwIssues(granteeIssues(grantees));
}

function throwIssues(issues: readonly FieldIssue[]): void {
  if (issues.length > 0) throw invalidFields(issues);
}

function keyIssues(path: string, key: string): FieldIssue[] {
  const message = brokenKeyRule(key);
  return message === null ? [] : [{ path, message }];
}

function granteeIssues({ to = [], toTags = [] }: Grantees): FieldIssue[] {
  const ofAgents = to.flatMap((agent, index) =>
    AGENT_ID.test(agent) ? [] : [{
      path: `to[${index}]`,
      message: `${JSON.stringify(agent)} cannot be an agent: use 1 to 128 letters, digits or ` +
        "characters of . _ : @ -, and begin with a letter or digit.",
    }]
  );
  const ofTags = toTags.flatMap((tag, index) =>
    TAG.test(tag) ? [] : [{
      path: `toTags[${index}]`,
      message: `${JSON.stringify(tag)} cannot be a tag: use tag: and 1 to 63 of a-z 0-9 -, and ` +
        "begin them with a letter or digit.",
    }]
  );
  return [...ofAgents, ...ofTags];
}

/** The rule that a key breaks, as a sentence; null if it breaks none. */
export function brokenKeyRule(key: string): string | null {
  const bytes = new TextEncoder().encode(key).byteLength;
  if (bytes === 0 || bytes > MOST_KEY_BYTES) {
    return `Must have 1 to ${MOST_KEY_BYTES} bytes, and has ${bytes}.`;
  }
  if (/[\p{Cc}\p{Cs}\\]/u.test(key)) {
    return "Must not contain control characters, backslashes or lone surrogates.";
  }
  return key.split("/").some((segment) => ["", ".", ".."].includes(segment))
    ? "Must not begin or end with /, nor have an empty, . or .. segment."
    : null;
}

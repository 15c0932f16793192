import { type FieldIssue, invalidFields } from "../http/agent_error.ts";

/** The service's rule for identifiers of agents. */
const AGENT_ID = /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$/;
const MOST_KEY_BYTES = 1024;

/**
 * Checks the key and the agents of an upload by the service's rules, before anything is sent.
 * Throws AgentError `invalid_request`.
 */
export function assertNames(
  { key, to = [] }: { readonly key: string; readonly to?: readonly string[] | undefined },
): void {
  const issues: FieldIssue[] = [];
  const keyRule = brokenKeyRule(key);
  if (keyRule !== null) issues.push({ path: "key", message: keyRule });
  for (const [index, agent] of to.entries()) {
    if (AGENT_ID.test(agent)) continue;
    issues.push({
      path: `to[${index}]`,
      message: `${JSON.stringify(agent)} cannot be an agent: use 1 to 128 letters, digits or ` +
        "characters of . _ : @ -, and begin with a letter or digit.",
    });
  }
  if (issues.length > 0) throw invalidFields(issues);
}

/** The rule that a key breaks, as a sentence; null if it breaks none. */
function brokenKeyRule(key: string): string | null {
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

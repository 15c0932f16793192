/**
 * What the doctor says of one thing. A `note` is to be looked at; a `fault` keeps the deployment,
 * or a part of it, from working as it should.
 */
export interface Finding {
  /** What was looked at, in a word. */
  readonly check: string;
  readonly level: "ok" | "note" | "fault";
  /** A sentence. */
  readonly message: string;
  /** The command, setting or page that mends it; null where all is well. */
  readonly remedy: string | null;
}

export function ok(check: string, message: string): Finding {
  return { check, level: "ok", message, remedy: null };
}

export function note(check: string, message: string, remedy: string): Finding {
  return { check, level: "note", message, remedy };
}

export function fault(check: string, message: string, remedy: string): Finding {
  return { check, level: "fault", message, remedy };
}

/** `findings`, or a single `ok` if it is empty. */
export function orOk(findings: readonly Finding[], check: string, message: string): Finding[] {
  return findings.length > 0 ? [...findings] : [ok(check, message)];
}

/** Everything that was found, for a terminal. */
export function describeFindings(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ check }) => check.length));
  const lines = findings.flatMap(({ check, level, message, remedy }) => [
    `${level.padEnd(5)}  ${check.padEnd(width)}  ${message}`,
    ...(remedy === null ? [] : [`${" ".repeat(width + 9)}→ ${remedy}`]),
  ]);
  return [...lines, "", summarise(findings)].join("\n");
}

export function isHealthy(findings: readonly Finding[]): boolean {
  return findings.every(({ level }) => level !== "fault");
}

function summarise(findings: readonly Finding[]): string {
  const count = (wanted: Finding["level"]) =>
    findings.filter(({ level }) => level === wanted).length;
  return `${isHealthy(findings) ? "Healthy" : "Not healthy"}: ${count("fault")} faults, ${
    count("note")
  } notes.`;
}

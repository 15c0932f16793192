/**
 * What the doctor says about one thing. A `note` deserves a look. A `fault` keeps the deployment,
 * or a part of it, from working as it should.
 */
export interface Finding {
  /** What was checked, in a word. */
  readonly check: string;
  readonly level: "ok" | "note" | "fault";
  /** A sentence. */
  readonly message: string;
  /** How to fix it, in words; null if all is well. */
  readonly remedy: string | null;
  /** The statements or commands that fix it as they are; null if a person has to decide. */
  readonly paste: Paste | null;
}

/** Text to paste into the project's SQL editor, or into a shell in this folder. */
export interface Paste {
  readonly into: "sql" | "shell";
  readonly text: string;
}

export function sql(text: string): Paste {
  return { into: "sql", text };
}

export function shell(text: string): Paste {
  return { into: "shell", text };
}

export function ok(check: string, message: string): Finding {
  return { check, level: "ok", message, remedy: null, paste: null };
}

export function note(
  check: string,
  message: string,
  remedy: string,
  paste: Paste | null = null,
): Finding {
  return { check, level: "note", message, remedy, paste };
}

export function fault(
  check: string,
  message: string,
  remedy: string,
  paste: Paste | null = null,
): Finding {
  return { check, level: "fault", message, remedy, paste };
}

/** `findings`, or a single `ok` if it is empty. */
export function orOk(findings: readonly Finding[], check: string, message: string): Finding[] {
  return findings.length > 0 ? [...findings] : [ok(check, message)];
}

/** Everything that was found, for a terminal. */
export function describeFindings(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ check }) => check.length));
  const lines = findings.flatMap(({ check, level, message, remedy, paste }) => [
    `${level.padEnd(5)}  ${check.padEnd(width)}  ${message}`,
    ...(remedy === null ? [] : [`${" ".repeat(width + 9)}→ ${remedy}${placeOf(paste)}`]),
    // Not indented: an indented function body would have another digest.
    ...(paste === null ? [] : ["", paste.text, ""]),
  ]);
  return [...lines, "", summarise(findings)].join("\n");
}

export function isHealthy(findings: readonly Finding[]): boolean {
  return findings.every(({ level }) => level !== "fault");
}

function placeOf(paste: Paste | null): string {
  if (paste === null) return "";
  return paste.into === "sql" ? " In the SQL editor:" : " In a shell:";
}

function summarise(findings: readonly Finding[]): string {
  const count = (wanted: Finding["level"]) => {
    const number = findings.filter(({ level }) => level === wanted).length;
    return `${number} ${wanted}${number === 1 ? "" : "s"}`;
  };
  return `${isHealthy(findings) ? "Healthy" : "Not healthy"}: ${count("fault")}, ${count("note")}.`;
}

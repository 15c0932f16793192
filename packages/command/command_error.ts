/**
 * A command cannot do what was asked. The message is one sentence for the person at the terminal.
 */
export class CommandError extends Error {
  override readonly name = "CommandError";
}

/** What went wrong, in one line, for a person. */
export function reasonOf(cause: unknown): string {
  const text = cause instanceof Error ? cause.message : String(cause);
  return text.split("\n", 1)[0] ?? text;
}

import type { Grant } from "../../agent-files/contract/types.ts";
import { note, plain } from "../../command/terminal/output.ts";

/** Tells of grants to a name that nobody has had. A misspelled name would not be noticed. */
export function tellUnknown(
  grants: readonly Pick<Grant, "to_agent" | "unknown_recipient">[],
): void {
  for (const { to_agent, unknown_recipient } of grants) {
    if (unknown_recipient) note(`Nobody called ${plain(to_agent ?? "")} has ever been here.`);
  }
}

import { AgentError } from "../../errors/agent_error.ts";

const LONGEST_SHOWN = 200;

/** The error for an archive that is not extracted, because of one entry or as a whole. */
export function refusal(entry: string | null, why: string): AgentError {
  const subject = entry === null
    ? "The archive"
    : `${JSON.stringify(shortened(entry))} in the archive`;
  return new AgentError({
    code: "archive_refused",
    message: `${subject} ${why}. Nothing was extracted. The tar can be downloaded as it is.`,
    details: { entry: entry === null ? null : shortened(entry) },
  });
}

/** The error for a folder that is not packed, because `get` would refuse it. */
export function refusalToPack(name: string, why: string): AgentError {
  const entry = shortened(name);
  return new AgentError({
    code: "archive_refused",
    message: `${JSON.stringify(entry)} ${why}. Nothing was sent.`,
    details: { entry },
  });
}

function shortened(name: string): string {
  return name.length <= LONGEST_SHOWN ? name : `${name.slice(0, LONGEST_SHOWN)}…`;
}

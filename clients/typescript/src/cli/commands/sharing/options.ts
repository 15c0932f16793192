/** The options of `share`, `link` and `put --link`. */
import type { ShareOptions } from "../../../agent_files.ts";
import type { Positionals } from "../../command/command.ts";
import { UsageError } from "../../command/usage_error.ts";

const DAY_MILLISECONDS = 86_400_000;

/** The positional arguments of `share` and `unshare`. */
export const FILE_AND_AGENTS: Positionals = {
  usage: "ARTIFACT|KEY AGENT…",
  least: 2,
  wrong: "Name the file and at least one agent.",
};

export const SHARING_OPTIONS = {
  ttl: {
    type: "string",
    value: "DAYS",
    help: "how many days the access lasts; default: as long as the file",
  },
  expires: {
    type: "string",
    value: "TIME",
    help: "instead of --ttl: when the access ends, such as 2026-12-31T18:00:00Z",
  },
  "max-downloads": {
    type: "string",
    value: "N",
    help: "how many downloads are allowed; default: any number",
  },
} as const;

/** The access that the options name. Throws UsageError. */
export function sharingOf(values: {
  readonly ttl?: string | undefined;
  readonly expires?: string | undefined;
  readonly "max-downloads"?: string | undefined;
}): ShareOptions {
  const { ttl, expires, "max-downloads": downloads } = values;
  if (ttl !== undefined && expires !== undefined) {
    throw new UsageError("Give --ttl or --expires, not both.");
  }
  return {
    ...(ttl !== undefined && {
      expiresAt: new Date(Date.now() + daysOf(ttl, "--ttl") * DAY_MILLISECONDS),
    }),
    ...(expires !== undefined && { expiresAt: expires }),
    ...(downloads !== undefined && { maxDownloads: downloadsOf(downloads) }),
  };
}

/** A whole number of days from 1. Throws UsageError. */
export function daysOf(text: string, option: string): number {
  if (!/^[1-9][0-9]{0,4}$/.test(text)) throw new UsageError(`${option} takes a number of days.`);
  return Number(text);
}

function downloadsOf(text: string): number {
  if (!/^[1-9][0-9]{0,3}$/.test(text)) {
    throw new UsageError("--max-downloads takes a number from 1 to 1000.");
  }
  return Number(text);
}

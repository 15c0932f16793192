/** The options of `share`, `link` and `put`. */
import type { Grantee, HandOverOptions, ShareOptions } from "../../agent-files/transfer/sharing.ts";
import type { Positionals } from "../../command/command.ts";
import { UsageError } from "../../command/usage_error.ts";
import { numberOf } from "../number_option.ts";

const DAY_MILLISECONDS = 86_400_000;

/** The positional arguments of `share` and `unshare`. */
export const FILE_AND_AGENTS: Positionals = {
  usage: "ARTIFACT|KEY [AGENT…]",
  least: 1,
  wrong: "Name the file.",
};

/** A tag is never a positional argument, because an agent can be called `tag:builder`, too. */
export const TO_TAG_OPTION = {
  type: "string",
  multiple: true,
  value: "TAG",
  help: "a tag, such as tag:builder, whose agents get access; can be repeated",
} as const;

/** The agents and tags that a command names. Throws UsageError if there are none. */
export function granteesOf(
  agents: readonly string[],
  tags: readonly string[] = [],
): { readonly name: string; readonly grantee: Grantee }[] {
  if (agents.length + tags.length === 0) {
    throw new UsageError("Name at least one agent, or a tag with --to-tag.");
  }
  return [
    ...agents.map((name) => ({ name, grantee: name })),
    ...tags.map((tag) => ({ name: tag, grantee: { tag } })),
  ];
}

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

/** What `put` and `share` say to whoever works on the file. */
export const HAND_OVER_OPTIONS = {
  note: {
    type: "string",
    value: "TEXT",
    help: "what to say about the file, such as what to do with it",
  },
  "reply-to": {
    type: "string",
    value: "GRANT",
    help: "the grant that this one answers, given or received",
  },
  deliver: {
    type: "string",
    value: "HOW",
    help: "of a tag's agents, each works on the file, or exactly one: each or one; default: each",
    completes: ["each", "one"],
  },
  "max-attempts": {
    type: "string",
    value: "N",
    help: "after how many failed attempts the task is parked, from 1 to 100; default: 5",
  },
  "known-only": {
    type: "boolean",
    help: "give no access to an agent whose name nobody has ever had: exit code 5",
  },
} as const;

/** The words to the grantee, from the options. Throws UsageError. */
export function handOverOf(values: {
  readonly note?: string | undefined;
  readonly "reply-to"?: string | undefined;
  readonly deliver?: string | undefined;
  readonly "max-attempts"?: string | undefined;
  readonly "known-only"?: boolean | undefined;
}): HandOverOptions {
  const { note, "reply-to": replyTo, deliver } = values;
  if (deliver !== undefined && deliver !== "each" && deliver !== "one") {
    throw new UsageError("--deliver takes each or one.");
  }
  const maxAttempts = numberOf(values["max-attempts"], {
    option: "--max-attempts",
    least: 1,
    most: 100,
  });
  return {
    ...(note !== undefined && { note }),
    ...(replyTo !== undefined && { replyTo }),
    ...(deliver !== undefined && { deliver }),
    ...(maxAttempts !== undefined && { maxAttempts }),
    ...(values["known-only"] && { knownOnly: true }),
  };
}

/** The limits of the access, from the options. Throws UsageError. */
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
  if (!/^[1-9][0-9]{0,4}$/.test(text)) {
    throw new UsageError(`${option} takes a number of days.`);
  }
  return Number(text);
}

function downloadsOf(text: string): number {
  if (!/^[1-9][0-9]{0,3}$/.test(text)) {
    throw new UsageError("--max-downloads takes a number from 1 to 1000.");
  }
  return Number(text);
}

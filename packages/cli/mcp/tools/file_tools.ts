import * as z from "zod";
import type { Grantee, ShareOptions } from "../../../agent-files/transfer/sharing.ts";
import { assertGrantees } from "../../../agent-files/transfer/names.ts";
import { UsageError } from "../../../command/usage_error.ts";
import { agents, artifactFields, artifactOf, tags, waitSeconds } from "./fields.ts";
import { defineTool, type Tool } from "./tool.ts";

const DAY_MILLISECONDS = 86_400_000;

const after = z.string().min(1).optional()
  .meta({
    description: "Only what is newer than this `latest`.",
  });

const accessFields = {
  days: z.number().int().min(1).max(36_500).optional()
    .meta({
      description: "Of access. Default: as long as the file.",
    }),
  max_downloads: z.number().int().min(1).max(1000).optional()
    .meta({
      description: "Default: any number.",
    }),
};

function accessOf(
  { days, max_downloads }: {
    days?: number | undefined;
    max_downloads?: number | undefined;
  },
): ShareOptions {
  return {
    ...(days !== undefined &&
      { expiresAt: new Date(Date.now() + days * DAY_MILLISECONDS) }),
    ...(max_downloads !== undefined && { maxDownloads: max_downloads }),
  };
}

/** Throws UsageError if there are none. */
function granteesOf(
  agents: readonly string[] = [],
  tags: readonly string[] = [],
): Grantee[] {
  if (agents.length + tags.length === 0) {
    throw new UsageError("Give at least one agent or tag.");
  }
  return [...agents, ...tags.map((tag) => ({ tag }))];
}

export const FILE_TOOLS: readonly Tool[] = [
  defineTool({
    name: "inbox",
    answers: "grants",
    description:
      "Files that other agents have granted you, newest first. With `wait_seconds`, it " +
      "answers as soon as there is one. To wait for the next one, give `after`.",
    effect: "reads",
    input: z.object({
      from_agent: z.string().min(1).optional(),
      after,
      limit: z.number().int().optional(),
      wait_seconds: waitSeconds,
    }),
    async call(given, { files, signal }) {
      const { grants, latest, next_cursor } = await files.inboxPage(
        defined(given),
        { signal },
      );
      return {
        grants: grants.map((
          { artifact_id, from_agent, key, mime, size, expires_at, note, reply_to },
        ) => ({
          artifact_id,
          from_agent,
          key,
          mime,
          size,
          expires_at,
          ...(note && { note }),
          ...(reply_to && { reply_to }),
        })),
        latest,
        more: next_cursor !== null,
      };
    },
  }),
  defineTool({
    name: "list",
    answers: "artifacts",
    description: "Your own files, by `key`.",
    effect: "reads",
    input: z.object({
      prefix: z.string().default("").meta({
        description: "Of the `key`.",
      }),
      limit: z.number().int().min(1).max(1000).default(100),
    }),
    async call({ prefix, limit }, { files, signal }) {
      const found: object[] = [];
      for await (const artifact of files.list({ prefix, signal })) {
        if (found.length === limit) return { artifacts: found, more: true };
        const { artifact_id, key, mime, size, expires_at } = artifact;
        found.push({ artifact_id, key, mime, size, expires_at });
      }
      return { artifacts: found, more: false };
    },
  }),
  defineTool({
    name: "share",
    answers: "grants",
    description: "Give agents access to one of your files.",
    effect: "adds",
    input: z.object({
      ...artifactFields,
      to: agents.optional(),
      to_tags: tags,
      ...accessFields,
      show_tokens: z.boolean().default(false).meta({
        description: "Also return the tokens, which anyone who reads this conversation can use.",
      }),
    }),
    async call({ to, to_tags, show_tokens, ...given }, { files, signal }) {
      const access = accessOf(given);
      const grantees = granteesOf(to, to_tags);
      assertGrantees({ to, toTags: to_tags });
      const grants: object[] = [];
      for (const grantee of grantees) {
        const granted = await files.share(artifactOf(given), grantee, {
          ...access,
          signal,
        });
        const { token, ...shown } = granted;
        grants.push(show_tokens ? { ...shown, token } : shown);
      }
      return { grants };
    },
  }),
  defineTool({
    name: "link",
    answers: "url",
    description:
      "Make a URL by which a person without an account can download one of your files. Anyone " +
      "who reads this conversation can use it, too.",
    effect: "adds",
    input: z.object({ ...artifactFields, ...accessFields }),
    async call(given, { files, signal }) {
      const made = await files.link(artifactOf(given), {
        ...accessOf(given),
        signal,
      });
      const { url, grant_id, expires_at } = made;
      return { url, grant_id, expires_at };
    },
  }),
  defineTool({
    name: "unshare",
    answers: "revoked",
    description: "Take access to one of your files away from agents.",
    effect: "replaces",
    input: z.object({ ...artifactFields, from: agents.optional(), from_tags: tags }),
    async call({ from, from_tags, ...named }, { files, signal }) {
      let revoked = 0;
      for (const grantee of granteesOf(from, from_tags)) {
        revoked += (await files.unshare(artifactOf(named), grantee, { signal })).revoked;
      }
      return { revoked };
    },
  }),
  defineTool({
    name: "delete",
    answers: "artifact_id",
    description: "Delete one of your files, and all access to it.",
    effect: "replaces",
    input: z.object(artifactFields),
    async call(named, { files, signal }) {
      const { artifact_id, state } = await files.remove(artifactOf(named), {
        signal,
      });
      return { artifact_id, state };
    },
  }),
  ...[true, false].map((isBlocked) =>
    defineTool({
      name: isBlocked ? "inbox_block" : "inbox_unblock",
      answers: "blocked",
      description: isBlocked
        ? "Hide an agent's grants from your inbox. The agent is not told."
        : "Show an agent's grants in your inbox again.",
      effect: "sets",
      input: z.object({ from_agent: z.string().min(1) }),
      async call({ from_agent }, { files, signal }) {
        return isBlocked
          ? await files.block({ from_agent }, { signal })
          : await files.unblock({ from_agent }, { signal });
      },
    })
  ),
  defineTool({
    name: "events",
    answers: "events",
    description: "What happened to your files, and what you did.",
    effect: "reads",
    input: z.object({
      after,
      limit: z.number().int().optional(),
      wait_seconds: waitSeconds,
    }),
    call: (given, { files, signal }) => files.eventsPage(defined(given), { signal }),
  }),
  defineTool({
    name: "whoami",
    answers: "kind",
    description: "Which agent you are.",
    effect: "reads",
    input: z.object({}),
    call: (_given, { files, signal }) => files.whoami({ signal }),
  }),
];

type Defined<Given> = {
  [Field in keyof Given]: Exclude<Given[Field], undefined>;
};

/** Drops the fields that are undefined. */
function defined<Given extends object>(given: Given): Defined<Given> {
  return Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined),
  ) as Defined<Given>;
}

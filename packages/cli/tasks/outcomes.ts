/** How a script answers the task that it took. */
import { basename } from "node:path";
import { lookup } from "mrmime";
import type { AgentFiles } from "../../agent-files/agent_files.ts";
import { AgentError } from "../../agent-files/errors/agent_error.ts";
import { UsageError } from "../../command/usage_error.ts";
import { daysOf } from "../sharing/options.ts";
import { defineVerb, type Verb } from "../verb.ts";
import { numberOf } from "../number_option.ts";

const ONE_TAKE = "Name the take, which `agentfiles take` shows: take_…";

export const done: Verb = defineVerb({
  summary: "Record that a task is done, and send a file that answers it.",
  positionals: {
    usage: "TAKE|GRANT",
    least: 1,
    most: 1,
    wrong: `${ONE_TAKE}. Or the grant of a task that nobody took.`,
  },
  example:
    'agentfiles done take_5d2f8e1a7c4b4f0d9e6a3b2c1d0e9f87 --reply house.pdf --note "Built."',
  options: {
    reply: {
      type: "string",
      value: "FILE",
      help: "a file to upload, to which the giver gets access",
      completes: "file",
    },
    key: {
      type: "string",
      value: "KEY",
      help: "the reply's name in the service; default: replies/ and the file's own name",
    },
    note: { type: "string", value: "TEXT", help: "what to say about the reply" },
    ttl: { type: "string", value: "DAYS", help: "how many days the reply lasts; default: 7" },
  },
  async run({ positionals: [named = ""], values }, context) {
    const { reply, key, note, ttl } = values;
    if (reply === undefined && [key, note, ttl].some((value) => value !== undefined)) {
      throw new UsageError("--key, --note and --ttl need --reply.");
    }
    const its = named.startsWith("grant_") ? { grant_id: named } : { take_id: named };
    const ttlDays = ttl === undefined ? {} : { ttlDays: daysOf(ttl, "--ttl") };
    const files = await context.files();
    const uploaded = reply === undefined ? null : await files.put(
      key ?? `replies/${basename(reply)}`,
      { path: reply },
      { mime: lookup(reply) ?? "application/octet-stream", ...ttlDays },
    );
    const recorded = await files.done({
      ...its,
      ...(uploaded !== null && {
        reply: { artifact_id: uploaded.artifact_id, ...(note !== undefined && { note }) },
      }),
    }).catch(async (error) => {
      if (uploaded !== null) await discard(files, uploaded.artifact_id, error);
      throw error;
    });
    await context.output.value(
      { ...recorded, artifact_id: uploaded?.artifact_id ?? null },
      ({ grant_id }) => `${grant_id}  done`,
    );
  },
});

/** Deletes a reply that was not granted. After a lost answer, it may have been. */
async function discard(files: AgentFiles, artifact_id: string, error: unknown): Promise<void> {
  if (!(error instanceof AgentError) || error.retryable || error.status < 400) return;
  await files.delete({ artifact_id }, { retrySeconds: 0 }).catch(() => {});
}

export const fail: Verb = defineVerb({
  summary: "Record that an attempt at a task failed: it can be taken again after a pause.",
  positionals: { usage: "TAKE", least: 1, most: 1, wrong: ONE_TAKE },
  example: 'agentfiles fail take_5d2f8e1a7c4b4f0d9e6a3b2c1d0e9f87 --reason "The plan has no roof."',
  options: {
    reason: { type: "string", value: "TEXT", help: "why, for the giver; required" },
    "retry-after": {
      type: "string",
      value: "SECONDS",
      help: "the pause before the next attempt; default: grows with each",
    },
    final: { type: "boolean", help: "it cannot succeed: park it until its giver requeues it" },
  },
  async run({ positionals: [take_id = ""], values }, context) {
    const { reason, final } = values;
    if (!reason) throw new UsageError("Say why, with --reason.");
    const pause = numberOf(values["retry-after"], {
      option: "--retry-after",
      least: 0,
      most: 86_400,
    });
    const files = await context.files();
    const failed = await files.fail({
      take_id,
      reason,
      ...(pause !== undefined && { retry_after_seconds: pause }),
      ...(final && { final }),
    });
    await context.output.value(
      failed,
      ({ grant_id, state, next_at }) =>
        `${grant_id}  ${state}${next_at ? ` until ${next_at}` : ""}`,
    );
  },
});

import * as z from "zod";
import { agentId, subject, tag, timestamp } from "../../../_shared/request/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../../_shared/operations/operation.ts";
import { newIdentifier } from "../../../_shared/identity/secrets.ts";
import { DELIVERIES, key, note, prefix } from "../../fields.ts";
import type { ArtifactsSettings } from "../../settings.ts";
import { standingGrant } from "../../standing.ts";

// Checked even if other fields are bad, so that one answer names all of them.
const when = () => true;

const response = standingGrant.extend({
  granted: z.int().min(0).max(1000).meta({
    description: "With `existing`, how many files were granted that were there already.",
    examples: [0],
  }),
}).meta({ id: "CreatedStandingGrant" });

export function createOperation(
  { relayDatabase, settings }: Platform<ArtifactsSettings>,
): Operation {
  return defineOperation({
    summary: "Grant every file that you will commit under a name or a prefix.",
    description: "Each commit makes an ordinary grant, in the same transaction. With `existing`, " +
      "the current files of these names are granted at once.",
    tag: "Grants",
    callers: "the agent itself",
    effect: "adds",
    identification: "required",
    isForPrograms: true,
    request: z.strictObject({
      agent_id: subject,
      key: key.optional(),
      prefix: prefix.optional(),
      to_agent: agentId.optional()
        .meta({ description: "The agent that gets access.", examples: ["builder"] }),
      to_tag: tag.optional()
        .meta({ description: "In place of `to_agent`: all agents with this tag." }),
      expires_at: timestamp
        .meta({ description: "From when on commits are not granted any more." }),
      grant_days: z.int().min(1).max(settings.artifactsMaxTtlDays).optional().meta({
        description:
          "How many days each grant lasts, from its commit. Default: until `expires_at`.",
        examples: [30],
      }),
      existing: z.boolean().default(false)
        .meta({ description: "Also grant what is there now: at most 1000 files." }),
      note: note.optional(),
      deliver: z.enum(DELIVERIES).optional().meta({
        description:
          "With `to_tag`: `one` if exactly one of the agents is to work on each file. Default: " +
          "`each` of them.",
        examples: ["one"],
      }),
    })
      .refine((input) => input.key !== undefined || input.prefix !== undefined, {
        path: ["key"],
        message: "Required, unless prefix is given.",
        when,
      })
      .refine((input) => input.key === undefined || input.prefix === undefined, {
        path: ["prefix"],
        message: "Must not be sent together with key.",
        when,
      })
      .refine((input) => input.to_agent !== undefined || input.to_tag !== undefined, {
        path: ["to_agent"],
        message: "Required, unless to_tag is given.",
        when,
      })
      .refine((input) => input.to_agent === undefined || input.to_tag === undefined, {
        path: ["to_tag"],
        message: "Must not be sent with to_agent.",
        when,
      })
      .refine((input) => input.deliver !== "one" || input.to_tag !== undefined, {
        path: ["deliver"],
        message: "Must be each, unless to_tag is sent.",
        when,
      }),
    requestExample: {
      prefix: "reports/",
      to_agent: "builder",
      expires_at: "2026-02-07T09:30:00Z",
    },
    response,
    errors: ["limit_exceeded"],
    handle({ input, caller }) {
      return relayDatabase("create_standing_grant", {
        caller,
        standing_id: newIdentifier("standing_"),
        agent_id: input.agent_id ?? null,
        name: input.key ?? input.prefix,
        is_prefix: input.key === undefined,
        to_agent: input.to_agent ?? null,
        to_tag: input.to_tag ?? null,
        expires_at: input.expires_at,
        grant_days: input.grant_days ?? null,
        existing: input.existing,
        note: input.note ?? null,
        is_shared: input.deliver === "one",
        max_live_grants: settings.artifactsMaxGrants,
      });
    },
  });
}

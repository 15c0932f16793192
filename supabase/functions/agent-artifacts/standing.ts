/** What the operations on standing grants take and answer. */
import * as z from "zod";
import { sentTimestamp } from "../_shared/request/fields.ts";
import {
  nameOf,
  sentDelivery,
  sentExpiry,
  sentGrantee,
  sentKey,
  sentNote,
  sentTag,
} from "./fields.ts";

const STANDING_ID = /^standing_[0-9a-f]{32}$/;
const EXAMPLE = "standing_4c1f7e0a9b2d4c3e8f6a5b7c9d0e1f2a";

export const standingId = nameOf(STANDING_ID, {
  description: "The standing grant's id, `standing_` and 32 hex digits.",
  examples: [EXAMPLE],
});

export const sentStandingId = z.string().regex(STANDING_ID)
  .meta({ description: "Identifies the standing grant.", examples: [EXAMPLE] });

export const standingGrant = z.object({
  standing_id: sentStandingId,
  key: sentKey.nullable().meta({
    description: "The name of the file whose commits are granted; null: those under `prefix`.",
    examples: [null],
  }),
  prefix: z.string().max(1024).nullable().meta({
    description: "The beginning of the names of the files whose commits are granted; null: `key`.",
    examples: ["reports/"],
  }),
  to_agent: sentGrantee.meta({ description: "The agent that gets access; null: see `to_tag`." }),
  to_tag: sentTag,
  grant_days: z.int().min(1).nullable().meta({
    description: "How many days each grant lasts; null: until `expires_at`.",
    examples: [30],
  }),
  note: sentNote,
  deliver: sentDelivery,
  created_at: sentTimestamp.meta({ description: "When it was made." }),
  expires_at: sentExpiry.meta({ description: "From when on commits are not granted any more." }),
}).meta({ id: "StandingGrant" });

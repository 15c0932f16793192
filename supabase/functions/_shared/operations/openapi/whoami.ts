import * as z from "zod";
import { sentAgentId, sentTimestamp } from "../../request/fields.ts";
import { TAG } from "../../identity/named_ids.ts";
import type { Components } from "./components.ts";
import { errorResponses, jsonResponse } from "./responses.ts";

/** What the SQL function describe_caller returns. */
const whoami = z.object({
  kind: z.enum(["agent", "user", "operator"])
    .meta({
      description: "What kind of caller it is; `user`: a person who is signed in as the agent.",
    }),
  agent_id: sentAgentId.nullable()
    .meta({
      description: "The agent that the caller is; null for the operator.",
      examples: ["planner"],
    }),
  key_id: z.string().regex(/^key_[0-9a-f]{32}$/).nullable().meta({
    description: "The id of the agent key that the request was sent with; null: it had none.",
    examples: ["key_2f1c0a5be2d94c738e9b1d2f3a4c5b60"],
  }),
  expires_at: sentTimestamp.nullable()
    .meta({
      description: "When this agent key or the user's token expires; null: never.",
      examples: [null],
    }),
  tags: z.array(z.string().regex(TAG)).meta({
    description: "The agent's tags, which the operator and enrolments set.",
    examples: [["tag:builder"]],
  }),
});

/** GET /whoami, as the document has it. */
export function describeWhoami(components: Components): object {
  return {
    operationId: "whoami",
    tags: ["Callers"],
    summary: "Show who the caller is authenticated as.",
    description: "Who may call it: every agent; the operator.",
    responses: {
      "200": jsonResponse("Who the caller is.", whoami, components),
      ...errorResponses([
        "unauthenticated",
        "superseded",
        "agent_name_taken",
        "method_not_allowed",
        "rate_limited",
        "internal",
        "upstream_unavailable",
        "maintenance",
        "misconfigured",
      ], components),
    },
  };
}

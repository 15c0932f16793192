import * as z from "zod";
import { sentTimestamp } from "../fields.ts";
import type { Components } from "./components.ts";
import { errorResponses, jsonResponse } from "./responses.ts";

/** What the SQL function describe_caller returns. */
const whoami = z.object({
  kind: z.enum(["agent", "user", "operator"])
    .meta({ description: "`user`: a signed-in user who is that agent." }),
  agent_id: z.string().nullable()
    .meta({ description: "Null for the operator.", examples: ["planner"] }),
  key_id: z.string().nullable().meta({
    description: "Of the agent key that the request was sent with; null where it was none.",
    examples: ["key_2f1c0a5be2d94c738e9b1d2f3a4c5b60"],
  }),
  expires_at: sentTimestamp.nullable()
    .meta({
      description: "When that key, or the user's token, ends; null: never.",
      examples: [null],
    }),
});

/** GET /whoami, as the document has it. */
export function describeWhoami(components: Components): object {
  return {
    operationId: "whoami",
    tags: ["Callers"],
    summary: "Who the caller is to the service.",
    description: "Who may call it: every agent; the operator.",
    responses: {
      "200": jsonResponse("Who it is.", whoami, components),
      ...errorResponses([
        "unauthenticated",
        "method_not_allowed",
        "rate_limited",
        "internal",
        "upstream_unavailable",
        "misconfigured",
      ], components),
    },
  };
}

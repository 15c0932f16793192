import * as z from "zod";
import type { Components } from "./components.ts";
import { errorResponses, textResponse } from "./responses.ts";

const metrics = z.string().meta({
  description: "The Prometheus text format, version 0.0.4.",
  examples: [
    "# HELP agent_requests_total Requests that this process has answered.\n" +
    "# TYPE agent_requests_total counter\n" +
    'agent_requests_total{path="/list",status="200"} 12\n',
  ],
});

/** GET /metrics, as the document has it. */
export function describeMetrics(components: Components): object {
  return {
    operationId: "metrics",
    tags: ["Health"],
    summary: "Get the metrics of the function and of what it stores, for Prometheus.",
    description: "Who may call it: the operator.",
    responses: {
      "200": textResponse("The metrics.", metrics, components),
      ...errorResponses([
        "unauthenticated",
        "superseded",
        "agent_name_taken",
        "forbidden",
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

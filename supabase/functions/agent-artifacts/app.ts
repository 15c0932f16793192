import { createApp } from "../_shared/app.ts";
import type { LogRequest } from "../_shared/request/request_log.ts";
import type { Environment } from "../_shared/settings/variables.ts";
import { ARTIFACTS_VARIABLES, readArtifactsSettings } from "./settings.ts";

/** Hands files from agent to agent. `routes/` defines each path; the comments name its callers. */
export function artifactsApp(environment: Environment, log?: LogRequest) {
  return createApp({
    name: "agent-artifacts",
    readSettings: readArtifactsSettings,
    variables: ARTIFACTS_VARIABLES,
    operations: {
      "/register": () => import("./routes/register.ts"), //           the agent itself
      "/commit": () => import("./routes/commit.ts"), //               the owner
      "/grant": () => import("./routes/grant.ts"), //                 the owner
      "/revoke": () => import("./routes/revoke.ts"), //               the owner
      "/fetch": () => import("./routes/fetch.ts"), //                 anyone with the token
      "/open": () => import("./routes/open.ts"), //                   the owner, an agent with a live grant
      "/grants": () => import("./routes/grants.ts"), //               the agent itself
      "/inbox": () => import("./routes/inbox.ts"), //                 the agent itself
      "/inbox/block": () => import("./routes/inbox/block.ts"), //     the agent itself
      "/inbox/unblock": () => import("./routes/inbox/unblock.ts"), // the agent itself
      "/list": () => import("./routes/list.ts"), //                   the agent itself
      "/delete": () => import("./routes/delete.ts"), //               the owner
      "/events": () => import("./routes/events.ts"), //               the agent itself
      "/wait": () => import("../_shared/waiting/wait.ts"), //         the agent itself
      "/enroll": () => import("../_shared/enrolment/enroll.ts"), //   anyone with the proof
      "/leave": () => import("../_shared/enrolment/leave.ts"), //     the agent itself
      "/enrolment/put": () => import("../_shared/enrolment/put.ts"), // the operator
      "/enrolment/list": () => import("../_shared/enrolment/list.ts"), // the operator
      "/enrolment/revoke": () => import("../_shared/enrolment/revoke.ts"), // the operator
      "/enrolment/test": () => import("../_shared/enrolment/test.ts"), // the operator
      "/sweep": () => import("./routes/sweep.ts"), //                 the operator
    }, //                                                             the operator: everything
    links: {
      byPath: {
        "/d/:grant_token": () => import("./links/download.ts"), //    anyone with the link
      },
      loadService: () => import("./links/serve_link.ts"),
    },
    async checkHealth(platform) {
      await (await import("./storage/bucket.ts")).checkBucket(platform);
    },
    loadMetrics: () => import("./metrics.ts"),
    loadDocumentation: () => import("./documentation.ts"),
    loadMcp: () => import("./mcp/definition.ts"),
    log,
  }, environment);
}

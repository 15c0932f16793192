import { createApp } from "../_shared/request/app.ts";
import type { Operations } from "../_shared/operations/operation.ts";
import type { LogRequest } from "../_shared/request/log/request_log.ts";
import type { Environment } from "../_shared/request/settings/variables.ts";
import { ARTIFACTS_VARIABLES, type ArtifactsSettings, readArtifactsSettings } from "./settings.ts";

/** The file of each path says who may call it. `tests/operations/` has a card of each. */
export const OPERATIONS = {
  "/register": () => import("./routes/register.ts"),
  "/commit": () => import("./routes/commit.ts"),
  "/grant": () => import("./routes/grant.ts"),
  "/revoke": () => import("./routes/revoke.ts"),
  "/fetch": () => import("./routes/fetch.ts"),
  "/open": () => import("./routes/open.ts"),
  "/grants": () => import("./routes/grants.ts"),
  "/recipients": () => import("./routes/recipients.ts"),
  "/standing/create": () => import("./routes/standing/create.ts"),
  "/standing/list": () => import("./routes/standing/list.ts"),
  "/standing/end": () => import("./routes/standing/end.ts"),
  "/inbox": () => import("./routes/inbox.ts"),
  "/inbox/block": () => import("./routes/inbox/block.ts"),
  "/inbox/unblock": () => import("./routes/inbox/unblock.ts"),
  "/inbox/take": () => import("./routes/inbox/take.ts"),
  "/inbox/extend": () => import("./routes/inbox/extend.ts"),
  "/inbox/done": () => import("./routes/inbox/done.ts"),
  "/inbox/fail": () => import("./routes/inbox/fail.ts"),
  "/inbox/requeue": () => import("./routes/inbox/requeue.ts"),
  "/list": () => import("./routes/list.ts"),
  "/versions": () => import("./routes/versions/versions.ts"),
  "/delete": () => import("./routes/delete.ts"),
  "/events": () => import("./routes/events.ts"),
  "/wait": () => import("../_shared/operations/waiting/wait.ts"),
  "/enroll": () => import("../_shared/identity/enrolment/enroll.ts"),
  "/leave": () => import("../_shared/identity/enrolment/leave.ts"),
  "/enrolment/put": () => import("../_shared/identity/enrolment/put.ts"),
  "/enrolment/list": () => import("../_shared/identity/enrolment/list.ts"),
  "/enrolment/revoke": () => import("../_shared/identity/enrolment/revoke.ts"),
  "/enrolment/test": () => import("../_shared/identity/enrolment/test_proof.ts"),
  "/sweep": () => import("./routes/sweep.ts"),
  "/webhooks/put": () => import("./routes/webhooks/put.ts"),
  "/webhooks/deliver": () => import("./routes/webhooks/deliver.ts"),
} satisfies Operations<ArtifactsSettings>;

/** Hands files from agent to agent. */
export function artifactsApp(environment: Environment, log?: LogRequest) {
  return createApp({
    name: "agent-artifacts",
    readSettings: readArtifactsSettings,
    variables: ARTIFACTS_VARIABLES,
    operations: OPERATIONS,
    links: {
      byPath: {
        "/d/:grant_token": () => import("./links/download.ts"),
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

import { createApp } from "../_shared/request/app.ts";
import type { Operations } from "../_shared/operations/operation.ts";
import type { LogRequest } from "../_shared/request/log/request_log.ts";
import type { Environment } from "../_shared/request/settings/variables.ts";
import { hasRelay, MESH_VARIABLES, type MeshSettings, readMeshSettings } from "./settings.ts";

/** The file of each path says who may call it. `tests/operations/` has a card of each. */
export const OPERATIONS = {
  "/peer/register": () => import("./routes/peer_register.ts"),
  "/peer/heartbeat": () => import("./routes/peer_heartbeat.ts"),
  "/peer/remove": () => import("./routes/peer_remove.ts"),
  "/netmap": () => import("./routes/netmap.ts"),
  // The wire's `acl` is called a rule everywhere else, because it is one rule and not a list.
  "/acl/put": () => import("./routes/rule_put.ts"),
  "/acl/revoke": () => import("./routes/rule_revoke.ts"),
  "/wg_config": () => import("./routes/wg_config.ts"),
  "/psk/rotate": () => import("./routes/psk_rotate.ts"),
  "/relay": () => import("./routes/relay.ts"),
  "/events": () => import("./routes/events.ts"),
  "/wait": () => import("../_shared/operations/waiting/wait.ts"),
  "/enroll": () => import("../_shared/identity/enrolment/enroll.ts"),
  "/leave": () => import("../_shared/identity/enrolment/leave.ts"),
  "/enrolment/put": () => import("../_shared/identity/enrolment/put.ts"),
  "/enrolment/list": () => import("../_shared/identity/enrolment/list.ts"),
  "/enrolment/revoke": () => import("../_shared/identity/enrolment/revoke.ts"),
  "/enrolment/test": () => import("../_shared/identity/enrolment/test_proof.ts"),
  "/psk/keys": () => import("./routes/psk_keys.ts"),
} satisfies Operations<MeshSettings>;

/** Private tunnels between agents. */
export function meshApp(environment: Environment, log?: LogRequest) {
  return createApp({
    name: "agent-mesh",
    readSettings: readMeshSettings,
    variables: MESH_VARIABLES,
    laterCheck: (settings) =>
      hasRelay(settings)
        ? async () => (await import("./relay/relay.ts")).readRelay(settings)
        : null,
    operations: OPERATIONS,
    loadMetrics: () => import("./metrics.ts"),
    loadDocumentation: () => import("./documentation.ts"),
    loadMcp: () => import("./mcp/definition.ts"),
    log,
  }, environment);
}

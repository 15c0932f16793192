import { createApp } from "../_shared/app.ts";
import type { LogRequest } from "../_shared/request/request_log.ts";
import type { Environment } from "../_shared/settings/variables.ts";
import { hasRelay, MESH_VARIABLES, readMeshSettings } from "./settings.ts";

/** Private tunnels between agents. `routes/` defines each path; the comments name its callers. */
export function meshApp(environment: Environment, log?: LogRequest) {
  return createApp({
    name: "agent-mesh",
    readSettings: readMeshSettings,
    variables: MESH_VARIABLES,
    laterCheck: (settings) =>
      hasRelay(settings)
        ? async () => (await import("./relay/relay.ts")).readRelay(settings)
        : null,
    operations: {
      "/peer/register": () => import("./routes/peer_register.ts"), //   the agent itself
      "/peer/heartbeat": () => import("./routes/peer_heartbeat.ts"), // the agent itself
      "/peer/remove": () => import("./routes/peer_remove.ts"), //       the agent itself
      "/netmap": () => import("./routes/netmap.ts"), //                 the agent itself
      // The wire's `acl` is called a rule everywhere else, because it is one rule and not a list.
      "/acl/put": () => import("./routes/rule_put.ts"), //              either agent of the rule
      "/acl/revoke": () => import("./routes/rule_revoke.ts"), //        either agent of the rule
      "/wg_config": () => import("./routes/wg_config.ts"), //           the agent itself
      "/psk/rotate": () => import("./routes/psk_rotate.ts"), //         either agent of the pair
      "/relay": () => import("./routes/relay.ts"), //                   the agent itself
      "/events": () => import("./routes/events.ts"), //                 the agent itself
      "/wait": () => import("../_shared/waiting/wait.ts"), //           the agent itself
      "/enroll": () => import("../_shared/enrolment/enroll.ts"), //     anyone with the proof
      "/leave": () => import("../_shared/enrolment/leave.ts"), //       the agent itself
      "/enrolment/put": () => import("../_shared/enrolment/put.ts"), // the operator
      "/enrolment/list": () => import("../_shared/enrolment/list.ts"), // the operator
      "/enrolment/revoke": () => import("../_shared/enrolment/revoke.ts"), // the operator
      "/enrolment/test": () => import("../_shared/enrolment/test.ts"), // the operator
      "/psk/keys": () => import("./routes/psk_keys.ts"), //             the operator
    }, //                                                               the operator: everything
    loadMetrics: () => import("./metrics.ts"),
    loadDocumentation: () => import("./documentation.ts"),
    loadMcp: () => import("./mcp/definition.ts"),
    log,
  }, environment);
}

import { createApp } from "../_shared/app.ts";
import type { Environment } from "../_shared/settings.ts";

/** Private tunnels between agents. Each path, and who may call it, stands in its own file under `routes/`. */
export function meshApp(environment: Environment) {
  return createApp({
    name: "agent-mesh",
    title: "Agent mesh",
    operations: {
      "/peer/register": () => import("./routes/peer_register.ts"), //   the agent itself
      "/peer/heartbeat": () => import("./routes/peer_heartbeat.ts"), // the agent itself
      "/peer/remove": () => import("./routes/peer_remove.ts"), //       the agent itself
      "/netmap": () => import("./routes/netmap.ts"), //                 the agent itself
      "/acl/put": () => import("./routes/acl_put.ts"), //               either agent of the rule
      "/acl/revoke": () => import("./routes/acl_revoke.ts"), //         either agent of the rule
      "/wg_config": () => import("./routes/wg_config.ts"), //           the agent itself
      "/psk/rotate": () => import("./routes/psk_rotate.ts"), //         either agent of the pair
    }, //                                                               and the operator, everything
  }, environment);
}

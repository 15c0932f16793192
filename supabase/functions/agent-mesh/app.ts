import { createApp } from "../_shared/app.ts";
import type { Environment } from "../_shared/settings.ts";
import { aclPutOperation } from "./routes/acl_put.ts";
import { aclRevokeOperation } from "./routes/acl_revoke.ts";
import { netmapOperation } from "./routes/netmap.ts";
import { peerHeartbeatOperation } from "./routes/peer_heartbeat.ts";
import { peerRegisterOperation } from "./routes/peer_register.ts";
import { peerRemoveOperation } from "./routes/peer_remove.ts";
import { pskRotateOperation } from "./routes/psk_rotate.ts";
import { wgConfigOperation } from "./routes/wg_config.ts";

/** Private tunnels between agents. Each path, and who may call it, stands in its own file under `routes/`. */
export function meshApp(environment: Environment) {
  return createApp({
    name: "agent-mesh",
    title: "Agent mesh",
    operations: (platform) => [
      peerRegisterOperation(platform), //  the agent itself
      peerHeartbeatOperation(platform), // the agent itself
      peerRemoveOperation(platform), //    the agent itself
      netmapOperation(platform), //        the agent itself
      aclPutOperation(platform), //        either agent of the rule
      aclRevokeOperation(platform), //     either agent of the rule
      wgConfigOperation(platform), //      the agent itself
      pskRotateOperation(platform), //     either agent of the pair
    ], //                                  and the operator, everything
  }, environment);
}

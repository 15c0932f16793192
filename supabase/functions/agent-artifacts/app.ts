import { createApp } from "../_shared/app.ts";
import type { Environment } from "../_shared/settings.ts";
import { createObjectStore } from "./object_store.ts";
import { commitOperation } from "./routes/commit.ts";
import { deleteOperation } from "./routes/delete.ts";
import { fetchOperation } from "./routes/fetch.ts";
import { grantOperation } from "./routes/grant.ts";
import { inboxOperation } from "./routes/inbox.ts";
import { listOperation } from "./routes/list.ts";
import { openOperation } from "./routes/open.ts";
import { registerOperation } from "./routes/register.ts";
import { revokeOperation } from "./routes/revoke.ts";
import { sweepOperation } from "./routes/sweep.ts";

/** Hands files from agent to agent. Each path, and who may call it, stands in its own file under `routes/`. */
export function artifactsApp(environment: Environment) {
  return createApp({
    name: "agent-artifacts",
    title: "Agent artifacts",
    operations(platform) {
      const store = createObjectStore(platform.client, platform.settings);
      return [
        registerOperation(platform, store), // the agent itself
        commitOperation(platform, store), //   the owner
        grantOperation(platform), //           the owner
        revokeOperation(platform), //          the owner
        fetchOperation(platform, store), //    anyone with the grant token
        openOperation(platform, store), //     the owner, an agent with a live grant
        inboxOperation(platform), //           the agent itself
        listOperation(platform), //            the agent itself
        deleteOperation(platform), //          the owner
        sweepOperation(platform, store), //    nobody
      ]; //                                    and the operator, everything
    },
  }, environment);
}

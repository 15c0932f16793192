import { createApp } from "../_shared/app.ts";
import type { Environment } from "../_shared/settings.ts";

/** Private tunnels between agents. */
export function meshApp(environment: Environment) {
  return createApp({ name: "agent-mesh", title: "Agent mesh", operations: () => [] }, environment);
}

import { loadVerbs } from "../../command/verbs.ts";
import type { Operation } from "../command.ts";

/** Every verb, loaded when it is called. */
export const VERBS: Readonly<Record<string, () => Promise<Operation>>> = {
  agent: async () => (await import("./groups/agent.ts")).agent,
  enrolment: async () => (await import("./groups/enrolment.ts")).enrolment,
  grants: async () => (await import("./groups/grants.ts")).grants,
  policy: async () => (await import("./groups/policy.ts")).policy,
  mesh: async () => (await import("./groups/mesh.ts")).mesh,
  psk: async () => (await import("./groups/psk.ts")).psk,
  usage: async () => (await import("../reports/usage.ts")).usage,
  events: async () => (await import("../reports/events.ts")).events,
  trace: async () => (await import("../reports/trace.ts")).trace,
  dashboard: async () => (await import("../dashboard/main.ts")).dashboard,
  doctor: async () => (await import("../doctor/main.ts")).doctor,
  fsck: async () => (await import("../fsck.ts")).fsck,
  restore: async () => (await import("./groups/restore.ts")).restore,
  user: async () => (await import("./groups/user.ts")).user,
  webhook: async () => (await import("./groups/webhook.ts")).webhook,
  login: async () => (await import("./projects/login.ts")).login,
  logout: async () => (await import("./projects/logout.ts")).logout,
  projects: async () => (await import("./projects/projects.ts")).projects,
  completion: async () => (await import("./completion.ts")).completionOf(() => loadVerbs(VERBS)),
  man: async () => (await import("./man.ts")).manOf(() => loadVerbs(VERBS)),
};

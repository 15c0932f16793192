import type { Verb } from "./verb.ts";

/** Every verb, loaded when it is called. */
export const COMMANDS: Readonly<Record<string, () => Promise<Verb>>> = {
  login: async () => (await import("./verbs/login.ts")).login,
  logout: async () => (await import("./verbs/logout.ts")).logout,
  whoami: async () => (await import("./verbs/whoami.ts")).whoami,
  put: async () => (await import("./files/put.ts")).put,
  get: async () => (await import("./files/get.ts")).get,
  ls: async () => (await import("./files/ls.ts")).ls,
  versions: async () => (await import("./files/versions.ts")).versions,
  rm: async () => (await import("./files/rm.ts")).rm,
  share: async () => (await import("./sharing/share.ts")).share,
  unshare: async () => (await import("./sharing/unshare.ts")).unshare,
  recipients: async () => (await import("./sharing/recipients.ts")).recipients,
  link: async () => (await import("./sharing/link.ts")).link,
  links: async () => (await import("./sharing/links.ts")).links,
  unlink: async () => (await import("./sharing/unlink.ts")).unlink,
  inbox: async () => (await import("./sharing/inbox.ts")).inbox,
  work: async () => (await import("./tasks/work.ts")).work,
  take: async () => (await import("./tasks/take.ts")).take,
  done: async () => (await import("./tasks/outcomes.ts")).done,
  fail: async () => (await import("./tasks/outcomes.ts")).fail,
  events: async () => (await import("./verbs/events.ts")).events,
  mcp: async () => (await import("./verbs/mcp.ts")).mcp,
  mesh: async () => (await import("./verbs/mesh.ts")).mesh,
  completion: async () => (await import("./verbs/completion.ts")).completion,
  man: async () => (await import("./verbs/man.ts")).man,
};

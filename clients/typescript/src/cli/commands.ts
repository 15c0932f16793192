import type { Verb } from "./verb.ts";

/** Every verb, loaded when it is called. */
export const COMMANDS: Readonly<Record<string, () => Promise<Verb>>> = {
  login: async () => (await import("./commands/login.ts")).login,
  logout: async () => (await import("./commands/logout.ts")).logout,
  whoami: async () => (await import("./commands/whoami.ts")).whoami,
  put: async () => (await import("./commands/files/put.ts")).put,
  get: async () => (await import("./commands/files/get.ts")).get,
  ls: async () => (await import("./commands/files/ls.ts")).ls,
  rm: async () => (await import("./commands/files/rm.ts")).rm,
  share: async () => (await import("./commands/sharing/share.ts")).share,
  unshare: async () => (await import("./commands/sharing/unshare.ts")).unshare,
  link: async () => (await import("./commands/sharing/link.ts")).link,
  links: async () => (await import("./commands/sharing/links.ts")).links,
  unlink: async () => (await import("./commands/sharing/unlink.ts")).unlink,
  inbox: async () => (await import("./commands/sharing/inbox.ts")).inbox,
  events: async () => (await import("./commands/events.ts")).events,
  mcp: async () => (await import("./commands/mcp.ts")).mcp,
  mesh: async () => (await import("./commands/mesh.ts")).mesh,
  completion: async () => (await import("./commands/completion.ts")).completion,
  man: async () => (await import("./commands/man.ts")).man,
};

import type { Verb } from "./verb.ts";

/** Every verb, loaded when it is called. */
export const COMMANDS: Readonly<Record<string, () => Promise<Verb>>> = {
  login: async () => (await import("./commands/login.ts")).login,
  logout: async () => (await import("./commands/logout.ts")).logout,
  whoami: async () => (await import("./commands/whoami.ts")).whoami,
  put: async () => (await import("./files/put.ts")).put,
  get: async () => (await import("./files/get.ts")).get,
  ls: async () => (await import("./files/ls.ts")).ls,
  rm: async () => (await import("./files/rm.ts")).rm,
  share: async () => (await import("./sharing/share.ts")).share,
  unshare: async () => (await import("./sharing/unshare.ts")).unshare,
  link: async () => (await import("./sharing/link.ts")).link,
  links: async () => (await import("./sharing/links.ts")).links,
  unlink: async () => (await import("./sharing/unlink.ts")).unlink,
  inbox: async () => (await import("./sharing/inbox.ts")).inbox,
  events: async () => (await import("./commands/events.ts")).events,
  mcp: async () => (await import("./commands/mcp.ts")).mcp,
  mesh: async () => (await import("./commands/mesh.ts")).mesh,
  completion: async () => (await import("./commands/completion.ts")).completion,
  man: async () => (await import("./commands/man.ts")).man,
};

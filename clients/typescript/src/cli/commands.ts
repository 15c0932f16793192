import type { Command } from "./command.ts";

/** Every verb, loaded when it is called. */
export const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  login: async () => (await import("./commands/login.ts")).login,
  whoami: async () => (await import("./commands/whoami.ts")).whoami,
  put: async () => (await import("./commands/put.ts")).put,
  get: async () => (await import("./commands/get.ts")).get,
  ls: async () => (await import("./commands/ls.ts")).ls,
  share: async () => (await import("./commands/share.ts")).share,
  link: async () => (await import("./commands/link.ts")).link,
  unshare: async () => (await import("./commands/unshare.ts")).unshare,
  inbox: async () => (await import("./commands/inbox.ts")).inbox,
  rm: async () => (await import("./commands/rm.ts")).rm,
  events: async () => (await import("./commands/events.ts")).events,
  mcp: async () => (await import("./commands/mcp.ts")).mcp,
  mesh: async () => (await import("./commands/mesh.ts")).mesh,
};

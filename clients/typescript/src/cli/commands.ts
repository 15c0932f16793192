import type { Command } from "./command.ts";

/** Every verb, loaded when it is called. */
export const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  login: async () => (await import("./commands/login.ts")).login,
  whoami: async () => (await import("./commands/whoami.ts")).whoami,
  put: async () => (await import("./commands/files/put.ts")).put,
  get: async () => (await import("./commands/files/get.ts")).get,
  ls: async () => (await import("./commands/files/ls.ts")).ls,
  share: async () => (await import("./commands/sharing/share.ts")).share,
  link: async () => (await import("./commands/sharing/link.ts")).link,
  unshare: async () => (await import("./commands/sharing/unshare.ts")).unshare,
  inbox: async () => (await import("./commands/sharing/inbox.ts")).inbox,
  rm: async () => (await import("./commands/files/rm.ts")).rm,
  events: async () => (await import("./commands/events.ts")).events,
  mcp: async () => (await import("./commands/mcp.ts")).mcp,
  mesh: async () => (await import("./commands/mesh.ts")).mesh,
};

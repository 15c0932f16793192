/**
 * All that the peer knows of the service: the answers that it reads, one connection, and how to
 * wait for news. Nothing else here imports from `agent-files`, but for what `platform.ts` names.
 */
export type {
  MeshAnswer,
  MeshConfiguration,
  MeshEvent,
  Netmap,
  Peer,
  SentPath,
  SentRefusal,
} from "../agent-files/contract/types.ts";
export { AgentError } from "../agent-files/errors/agent_error.ts";
export { postAndWait, restAfterWait } from "../agent-files/follow/waiting.ts";
export { Connection } from "../agent-files/http/connection.ts";
export type { CallerOptions } from "../agent-files/http/connection_options.ts";

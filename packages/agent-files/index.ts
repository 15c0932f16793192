export {
  AgentFiles,
  type GetFolderOptions,
  type GrantsOptions,
  type ListOptions,
} from "./agent_files.ts";
export type { VersionsOptions } from "./operations/name_operations.ts";
export type { Grantee, HandOverOptions, ShareLink, ShareOptions } from "./transfer/sharing.ts";
export { AgentMesh } from "./agent_mesh.ts";
export { AgentError, type LocalErrorCode } from "./errors/agent_error.ts";
export type {
  Artifact,
  ArtifactsAnswer,
  ArtifactsEvent,
  ArtifactsPath,
  ArtifactsRequest,
  Download,
  GivenGrant,
  Grant,
  Identity,
  InboxEntry,
  MeshAnswer,
  MeshConfiguration,
  MeshEvent,
  MeshPath,
  MeshRequest,
  Netmap,
  Peer,
  Recipient,
  Rule,
  SentPath,
  ServiceErrorCode,
  StandingGrant,
  TaskEntry,
  WgQuickConfiguration,
} from "./contract/types.ts";
export type { ConfigurationRequest, ConfigurationsOptions } from "./follow/configurations.ts";
export type { ReadPaths } from "./follow/path_reports.ts";
export type { EventsOptions } from "./follow/events.ts";
export type { InboxOptions } from "./follow/inbox.ts";
export type { ExtractFolderOptions, GotFolder } from "./folders/get_folder.ts";
export type { PutFolder, PutFolderOptions } from "./folders/put_folder.ts";
export type { LeftOut, PackedEntry, WalkOptions } from "./folders/packed.ts";
export type { CallOptions, ConnectionOptions, EnrolOptions } from "./http/connection_options.ts";
export type { ExpiringKey, Key } from "./http/credential.ts";
export type { Enrol, Proof } from "./http/enrolment_proof.ts";
export type { Retry } from "./http/retries.ts";
export type { TasksOptions } from "./tasks/take_tasks.ts";
export type { FailOptions, Task } from "./tasks/task.ts";
export type { DoneOptions } from "./tasks/reply.ts";
export type { GetOptions, Got, GotArtifact } from "./transfer/get.ts";
export type { Progress, PutArtifact, PutOptions } from "./transfer/put.ts";
export type { PathSource, Source, StreamSource } from "./transfer/source.ts";
export type { NamedArtifact, Target } from "./transfer/target.ts";

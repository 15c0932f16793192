/** The contract's types by path: what a POST takes and answers, as the OpenAPI document says. */
import type { components as ArtifactComponents, paths as ArtifactPaths } from "./artifacts.ts";
import type { components as MeshComponents, paths as MeshPaths } from "./mesh.ts";

type JsonOf<Content> = Content extends { content: { "application/json": infer Body } } ? Body
  : never;

type Taken<Operation> = Operation extends { requestBody: infer Content } ? JsonOf<Content>
  : never;

type Answered<Operation> = Operation extends { responses: { 200: infer Content } } ? JsonOf<Content>
  : never;

type OperationOf<
  Paths,
  Path extends keyof Paths,
  Method extends "get" | "post",
> = Paths[Path] extends Record<Method, infer Operation> ? Operation : never;

export type ArtifactsPath = keyof ArtifactPaths;
export type ArtifactsRequest<Path extends ArtifactsPath> = Taken<
  OperationOf<ArtifactPaths, Path, "post">
>;
export type ArtifactsAnswer<Path extends ArtifactsPath> = Answered<
  OperationOf<ArtifactPaths, Path, "post">
>;

export type MeshPath = keyof MeshPaths;
export type MeshRequest<Path extends MeshPath> = Taken<
  OperationOf<MeshPaths, Path, "post">
>;
export type MeshAnswer<Path extends MeshPath> = Answered<
  OperationOf<MeshPaths, Path, "post">
>;

export type Artifact = ArtifactComponents["schemas"]["Artifact"];
export type Grant = ArtifactComponents["schemas"]["Grant"];
export type InboxEntry = ArtifactComponents["schemas"]["InboxEntry"];
/** A grant that was taken as work, with its take. */
export type TaskEntry = ArtifactComponents["schemas"]["Task"];
/** A live grant that an agent has given. */
export type GivenGrant = ArtifactComponents["schemas"]["GivenGrant"];
/** An agent or a tag that an agent has live grants to, or from. */
export type Recipient = ArtifactComponents["schemas"]["Recipient"];
/** A promise to grant what will be committed under a name or a prefix. */
export type StandingGrant = ArtifactComponents["schemas"]["StandingGrant"];
/** An event of an agent's files, or an action of the agent. */
export type ArtifactsEvent = ArtifactComponents["schemas"]["Event"];
export type Download = ArtifactsAnswer<"/open">;
/** The configuration that wg-quick takes. */
export type WgQuickConfiguration = MeshComponents["schemas"]["WgQuickConfiguration"];
/** The configuration of a program that is a peer itself. */
export type MeshConfiguration = MeshComponents["schemas"]["MeshConfiguration"];
/** An agent's report of how it reaches a neighbour. */
export type SentPath = NonNullable<MeshRequest<"/peer/heartbeat">["paths"]>[number];
/** Connections of a neighbour that a host refused. */
export type SentRefusal = NonNullable<MeshRequest<"/peer/heartbeat">["refused"]>[number];
export type Peer = MeshComponents["schemas"]["Peer"];
export type Rule = MeshComponents["schemas"]["Rule"];
export type Netmap = MeshComponents["schemas"]["Netmap"];
/** An event of an agent in the mesh, or an action of the agent. */
export type MeshEvent = MeshComponents["schemas"]["Event"];

/** The agent or operator that a credential belongs to. */
export type Identity = Answered<OperationOf<ArtifactPaths, "/whoami", "get">>;

type ErrorBody =
  | ArtifactComponents["schemas"]["ErrorBody"]
  | MeshComponents["schemas"]["ErrorBody"];
/** The error codes of the service. */
export type ServiceErrorCode = ErrorBody["error"]["code"];

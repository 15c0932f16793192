/** The contract's types by path: what a POST takes and answers, as the OpenAPI document says. */
import type { AnnouncedArtifacts, AnnouncedMesh } from "./announced.ts";
import type { components as ArtifactComponents, paths as ArtifactPaths } from "./artifacts.ts";
import type { components as MeshComponents, paths as MeshPaths } from "./mesh.ts";

type JsonOf<Content> = Content extends { content: { "application/json": infer Body } } ? Body
  : never;

type Taken<Operation> = Operation extends { requestBody: infer Content } ? JsonOf<Content> : never;

type Answered<Operation> = Operation extends { responses: { 200: infer Content } } ? JsonOf<Content>
  : never;

type OperationOf<Paths, Path extends keyof Paths, Method extends "get" | "post"> =
  Paths[Path] extends Record<Method, infer Operation> ? Operation : never;

/** An agent may leave its own identifier out. */
type OwnAgentLeftOut<Body> = Body extends { agent_id: string }
  ? Omit<Body, "agent_id"> & { agent_id?: string }
  : Body;

/** The part that a contract has not got yet, of what is announced of it. */
type Rest<Announced, Known> = Omit<Announced, keyof Known>;

type RequestOf<Paths, Announced, Path> = Path extends keyof Paths
  ? OwnAgentLeftOut<Taken<OperationOf<Paths, Path, "post">>> & Additions<Announced, Path, "request">
  : Additions<Announced, Path, "request">;

type AnswerOf<Paths, Announced, Path> = Path extends keyof Paths ?
    & Answered<OperationOf<Paths, Path, "post">>
    & Rest<
      Additions<Announced, Path, "answer">,
      Answered<OperationOf<Paths, Path, "post">>
    >
  : Additions<Announced, Path, "answer">;

type Additions<Announced, Path, Part extends "request" | "answer"> = Path extends keyof Announced
  ? Announced[Path] extends Record<Part, infer Body> ? Body : unknown
  : unknown;

export type ArtifactsPath = keyof ArtifactPaths | keyof AnnouncedArtifacts;
export type ArtifactsRequest<Path extends ArtifactsPath> = RequestOf<
  ArtifactPaths,
  AnnouncedArtifacts,
  Path
>;
export type ArtifactsAnswer<Path extends ArtifactsPath> = AnswerOf<
  ArtifactPaths,
  AnnouncedArtifacts,
  Path
>;

export type MeshPath = keyof MeshPaths | keyof AnnouncedMesh;
export type MeshRequest<Path extends MeshPath> = RequestOf<MeshPaths, AnnouncedMesh, Path>;
export type MeshAnswer<Path extends MeshPath> = AnswerOf<MeshPaths, AnnouncedMesh, Path>;

export type Artifact = ArtifactComponents["schemas"]["Artifact"];
export type Grant = ArtifactComponents["schemas"]["Grant"];
export type InboxEntry = ArtifactComponents["schemas"]["InboxEntry"];
/** A live grant that an agent has given. */
export type GivenGrant = ArtifactsAnswer<"/grants">["grants"][number];
export type Download = ArtifactsAnswer<"/open">;
export type Peer = MeshComponents["schemas"]["Peer"];
export type Rule = MeshComponents["schemas"]["Rule"];
export type Netmap = MeshComponents["schemas"]["Netmap"];

type ErrorBody =
  | ArtifactComponents["schemas"]["Error"]
  | MeshComponents["schemas"]["Error"];
/** The error codes of the service. */
export type ServiceErrorCode = ErrorBody["error"]["code"];

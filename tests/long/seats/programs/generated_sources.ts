/** TypeScript that a developer writes for generated clients, which it imports. */

/** The program is the same for all clients. An adapter gives it the operations that it needs. */
export const HAND_OVER = `
export type Answer<Body> =
  | { readonly body: Body }
  | { readonly status: number; readonly code: string };

export interface Operations {
  register(
    request: { key: string; mime: string; size: number; ttl_days: number },
  ): Promise<Answer<{ artifact_id: string; upload_url: string }>>;
  commit(request: { artifact_id: string; sha256: string }): Promise<Answer<{ state: string }>>;
  grant(
    request: { artifact_id: string; to_agent: string; expires_at: string },
  ): Promise<Answer<{ grant_id: string }>>;
  inbox(): Promise<Answer<{ grants: { artifact_id: string; from_agent: string }[] }>>;
  open(request: { artifact_id: string }): Promise<Answer<{ url: string }>>;
}

export interface Given {
  planner: { key: string };
  builder: { id: string; key: string };
  closedId: string;
  file: { key: string; size: number };
}

export async function handOver(operationsOf: (key: string) => Operations, given: Given) {
  const { key, size } = given.file;
  const bytes = new Uint8Array(size).map((_, index) => index * 31 + (index >> 8));
  const planner = operationsOf(given.planner.key);
  const builder = operationsOf(given.builder.key);
  const { artifact_id, upload_url } = bodyOf(
    await planner.register({ key, mime: "application/octet-stream", size, ttl_days: 1 }),
  );
  const uploaded = await fetch(upload_url, { method: "PUT", body: bytes });
  if (!uploaded.ok) throw new Error("The upload was refused.");
  const commit = { artifact_id, sha256: await sha256Of(bytes.buffer) };
  while (bodyOf(await planner.commit(commit)).state === "verifying");
  const grant = { artifact_id, to_agent: given.builder.id, expires_at: "2099-12-31T23:59:59Z" };
  bodyOf(await planner.grant(grant));

  const [entry] = bodyOf(await builder.inbox()).grants;
  if (entry === undefined) throw new Error("The inbox is empty.");
  const { url } = bodyOf(await builder.open({ artifact_id: entry.artifact_id }));
  const received = await (await fetch(url)).arrayBuffer();
  const refused = await builder.open({ artifact_id: given.closedId });
  return {
    sha256: await sha256Of(received),
    from: entry.from_agent,
    refused: "body" in refused ? "not refused" : refused.status + " " + refused.code,
  };
}

function bodyOf<Body>(answer: Answer<Body>): Body {
  if ("body" in answer) return answer.body;
  throw new Error(answer.status + " " + answer.code);
}

async function sha256Of(bytes: ArrayBuffer): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
`;

const ORVAL = `
import * as artifacts from "./agent-artifacts";
import type { Answer, Operations } from "./hand_over";

interface Refusal {
  readonly status: number;
  readonly data: { readonly error: { readonly code: string } };
}

function refusal({ status, data }: Refusal): Answer<never> {
  return { status, code: data.error.code };
}

export function operationsOf(key: string): Operations {
  const options = { headers: { authorization: "Bearer " + key } };
  return {
    async register(request) {
      const answer = await artifacts.register(request, options);
      return answer.status === 200 ? { body: answer.data } : refusal(answer);
    },
    async commit(request) {
      const answer = await artifacts.commit(request, options);
      return answer.status === 200 || answer.status === 202
        ? { body: answer.data }
        : refusal(answer);
    },
    async grant(request) {
      const answer = await artifacts.grant(request, options);
      return answer.status === 200 ? { body: answer.data } : refusal(answer);
    },
    async inbox() {
      const answer = await artifacts.inbox({}, options);
      return answer.status === 200 ? { body: answer.data } : refusal(answer);
    },
    async open(request) {
      const answer = await artifacts.openArtifact(request, options);
      return answer.status === 200 ? { body: answer.data } : refusal(answer);
    },
  };
}
`;

/** Converts an answer of the two other clients: `data` on success, otherwise `error`. */
const ANSWER_OF = `
interface Answered<Body> {
  readonly data?: Body | undefined;
  readonly error?: { readonly error: { readonly code: string } } | undefined;
  readonly response?: Response | undefined;
}

function answerOf<Body>({ data, error, response }: Answered<Body>): Answer<NonNullable<Body>> {
  return data !== undefined && data !== null
    ? { body: data }
    : { status: response?.status ?? 0, code: error?.error.code ?? "" };
}
`;

const HEY_API = (baseUrl: string) => `
import { createClient } from "./agent-artifacts/client";
import * as artifacts from "./agent-artifacts";
import type { Answer, Operations } from "./hand_over";
${ANSWER_OF}
export function operationsOf(key: string): Operations {
  const client = createClient({ baseUrl: ${JSON.stringify(baseUrl)}, auth: key });
  return {
    register: async (body) => answerOf(await artifacts.register({ client, body })),
    commit: async (body) => answerOf(await artifacts.commit({ client, body })),
    grant: async (body) => answerOf(await artifacts.grant({ client, body })),
    inbox: async () => answerOf(await artifacts.inbox({ client, body: {} })),
    open: async (body) => answerOf(await artifacts.openArtifact({ client, body })),
  };
}
`;

const OPENAPI_FETCH = (baseUrl: string) => `
import createClient from "openapi-fetch";
import type { paths } from "./agent-artifacts";
import type { paths as MeshPaths } from "./agent-mesh";
import type { Answer, Operations } from "./hand_over";
${ANSWER_OF}
export function operationsOf(key: string): Operations {
  const options = {
    baseUrl: ${JSON.stringify(baseUrl)},
    headers: { authorization: "Bearer " + key },
  };
  const client = createClient<paths>(options);
  return {
    register: async (body) => answerOf(await client.POST("/register", { body })),
    commit: async (body) => answerOf(await client.POST("/commit", { body })),
    grant: async (body) => answerOf(await client.POST("/grant", { body })),
    inbox: async () => answerOf(await client.POST("/inbox", { body: {} })),
    open: async (body) => answerOf(await client.POST("/open", { body })),
  };
}

export const createMeshClient = createClient<MeshPaths>;
`;

/** Adapters from a generated client's operations to `HAND_OVER`, for the function's URL. */
export const ADAPTERS = {
  orval: () => ORVAL,
  "@hey-api/openapi-ts": HEY_API,
  "openapi-typescript": OPENAPI_FETCH,
} as const satisfies Readonly<Record<string, (baseUrl: string) => string>>;

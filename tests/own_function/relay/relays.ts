/** Relay settings: TURN servers with a shared secret, and a service that issues credentials. */
import type { Agent, Answer } from "../../conformance/client.ts";
import type { OwnFunction } from "../own_function.ts";

export const TURN_SECRET = "turn-secret-of-the-tests";

export const OWN_RELAY = {
  MESH_TURN_URLS: "turn:turn.example.com:3478,turns:turn.example.com:443?transport=tcp",
  MESH_TURN_SECRET: TURN_SECRET,
};

export const SERVICE_TOKEN = "token-of-the-turn-service";

export interface IceServer {
  readonly urls: readonly string[];
  readonly username: string;
  readonly credential: string;
}

export interface RelayAnswer {
  readonly ice_servers: readonly IceServer[];
  readonly expires_at: string;
}

export function askRelay(
  own: OwnFunction,
  as: Agent | "operator",
  body: object = {},
): Promise<Answer<RelayAnswer>> {
  return own.post<RelayAnswer>("/relay", { as, body });
}

interface ServiceRequest {
  readonly method: string;
  readonly authorization: string | null;
  readonly body: unknown;
}

/** A stand-in for a TURN service. */
export interface CredentialsService extends AsyncDisposable {
  readonly environment: Record<string, string>;
  readonly requests: readonly ServiceRequest[];
  answerWith(answer: () => Response | Promise<Response>): void;
}

export function startCredentialsService(): CredentialsService {
  const requests: ServiceRequest[] = [];
  let answer: () => Response | Promise<Response> = () => new Response(null, { status: 404 });
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const { method, headers } = request;
      const body = await request.json().catch(() => null);
      requests.push({ method, authorization: headers.get("authorization"), body });
      return await answer();
    },
  );
  return {
    environment: {
      MESH_TURN_CREDENTIALS_URL: `http://127.0.0.1:${server.addr.port}/v1/credentials`,
      MESH_TURN_CREDENTIALS_TOKEN: SERVICE_TOKEN,
    },
    requests,
    answerWith: (next) => void (answer = next),
    async [Symbol.asyncDispose]() {
      await server.shutdown();
    },
  };
}

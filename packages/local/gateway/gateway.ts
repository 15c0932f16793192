import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { allowAnyOrigin } from "./cors.ts";
import { translateKeys } from "./gateway_keys.ts";
import type { ProjectKeys } from "../state/project_keys.ts";
import { forward } from "./proxy.ts";
import { CommandError } from "../../command/command_error.ts";
import type { Connections } from "./forward_options.ts";
import { openConnections } from "./short_request.ts";
import { endWhenSilent } from "./silent_sender.ts";

/** The loopback ports that the gateway sends requests to. They may change while it runs. */
export interface Upstreams {
  postgrest: number;
  storage: number;
  auth: number;
  /** By function name. 0, as of the others: it has not started yet. */
  readonly functions: Map<string, number>;
}

export interface Gateway {
  readonly port: number;
  stop(): Promise<void>;
}

export interface GatewayOptions {
  /** 0: any free one. */
  readonly port: number;
  readonly keys: ProjectKeys;
  readonly upstreams: Upstreams;
  /** How long a sender may pause within a body. Default: 15 seconds. */
  readonly silenceMilliseconds?: number;
}

/**
 * How long a connection may stay idle. It must be longer than clients pause between two requests:
 * with Node's 5 seconds, a busy gateway resets connections that a client is just reusing.
 */
const KEEP_ALIVE_MILLISECONDS = 75_000;

/**
 * The listen backlog: how many connections may wait to be accepted while the gateway is busy. The
 * system resets any beyond.
 */
const MAX_NOT_ACCEPTED = 4096;

/**
 * Opens the stack's one public port, on loopback, with Supabase's four prefixes. Throws
 * CommandError.
 */
export function startGateway(options: GatewayOptions): Promise<Gateway> {
  const connections = openConnections();
  const server = createServer({
    requestTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MILLISECONDS,
  }, (request, response) => {
    endWhenSilent(request, options);
    route(request, response, { ...options, connections });
  });
  return new Promise((resolve, reject) => {
    server.once("error", (cause) => {
      reject(new CommandError(portRefusal(options.port, cause), { cause }));
    });
    server.listen({ port: options.port, host: "127.0.0.1", backlog: MAX_NOT_ACCEPTED }, () => {
      const address = server.address();
      const port = address !== null && typeof address === "object" ? address.port : options.port;
      resolve({ port, stop: () => stop(server, connections) });
    });
  });
}

/** Says why a port cannot be used and what to do, by the code of the system's error. */
export function portRefusal(port: number, { code, message }: NodeJS.ErrnoException): string {
  const refused = `Port ${port} on 127.0.0.1 cannot be used`;
  if (code === "EADDRINUSE") {
    return `${refused} (is the service, or \`supabase start\`, already running?); set PORT to another one.`;
  }
  if (code === "EACCES") {
    return `${refused}: the system does not let this user open it (usually because it is below 1024); set PORT to a higher one.`;
  }
  return `${refused} (${code ?? message}); set PORT to another one.`;
}

async function stop(
  server: ReturnType<typeof createServer>,
  connections: Connections,
): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
  await connections.destroy();
}

function route(
  request: IncomingMessage,
  response: ServerResponse,
  { keys, upstreams, connections }: GatewayOptions & { readonly connections: Connections },
): void {
  const url = sitePage(authMetadata(request.url ?? "/"));
  const [, prefix, rest] = /^\/(functions|rest|storage|auth)\/v1(?=[/?]|$)(.*)$/s.exec(url) ?? [];
  const path = rest?.startsWith("/") ? rest : `/${rest ?? ""}`;
  if (prefix === "functions") {
    const name = /^\/([^/?]*)/.exec(path)?.[1] ?? "";
    const port = upstreams.functions.get(name);
    if (port === undefined) {
      answer(response, 404, { code: "NOT_FOUND", message: "Requested function was not found" });
    } else {
      forward(request, response, { port, path, connections, whenDown: functionIsDown });
    }
    return;
  }
  if (prefix === undefined) {
    answer(response, 404, { message: "no Route matched with those values" });
    return;
  }
  if (allowAnyOrigin(request, response)) return;
  const verdict = translateKeys(request.headers, {
    keys,
    keyRequired: isKeyRequired(prefix, path),
  });
  if ("refusal" in verdict) {
    answer(response, 401, verdict.refusal);
    return;
  }
  forward(request, response, {
    port: portOf(prefix, upstreams),
    path,
    headers: verdict.headers,
    connections,
    whenDown: serviceIsDown,
  });
}

/**
 * OAuth clients put the well-known path before an issuer's own path (RFC 8414, section 3.1). The
 * platform serves Auth's metadata there too.
 */
function authMetadata(url: string): string {
  return url.replace(
    /^\/(\.well-known\/(?:oauth-authorization-server|openid-configuration))\/auth\/v1$/,
    "/auth/v1/$1",
  );
}

/** The one page of the project's site, which Auth's stand-in serves. */
function sitePage(url: string): string {
  return url.replace(/^\/oauth\/consent(?=\?|$)/, "/auth/v1/site/oauth/consent");
}

/** The paths that browsers and OAuth clients open without a key of the project. */
const OPEN_AUTH_PATHS =
  /^\/(?:\.well-known\/|site\/|oauth\/(?:authorize|token|userinfo|clients\/register)\b)/;

/** Whether the gateway checks the key. Storage checks keys itself. */
function isKeyRequired(prefix: string, path: string): boolean {
  return prefix === "rest" || (prefix === "auth" && !OPEN_AUTH_PATHS.test(path));
}

function portOf(prefix: string, { postgrest, storage, auth }: Upstreams): number {
  if (prefix === "rest") return postgrest;
  return prefix === "auth" ? auth : storage;
}

/**
 * Answers in the shape of the functions' own errors, so that callers need to know only one shape.
 */
function functionIsDown(request: IncomingMessage, response: ServerResponse): void {
  response.setHeader("retry-after", "1");
  answer(response, 503, {
    error: {
      code: "upstream_unavailable",
      message: "The function is not running at the moment; try again.",
      retryable: true,
      request_id: String(request.headers["x-request-id"] ?? crypto.randomUUID()),
    },
  });
}

function serviceIsDown(_request: IncomingMessage, response: ServerResponse): void {
  response.setHeader("retry-after", "1");
  answer(response, 503, { message: "The service is not running at the moment; try again." });
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

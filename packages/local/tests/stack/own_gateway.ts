/** A separate gateway for a test, without a stack behind it. */
import assert from "node:assert/strict";
import { startGateway } from "../../gateway/gateway.ts";
import { freePort } from "../../processes/free_port.ts";

export const KEYS = {
  secretKey: "sb_secret_test",
  publishableKey: "sb_publishable_test",
  serviceRoleKey: "service-role.jwt",
  anonKey: "anon.jwt",
  jwtSecret: "",
  pskEncryptionKeys: "",
  databasePassword: "",
};

/** A request that reached the upstream. */
export interface Seen {
  readonly path: string;
  readonly headers: Record<string, string>;
}

/** A gateway with one upstream for all paths. By default, the upstream echoes the request. */
export async function openGateway(handler: Deno.ServeHandler = tellWhatArrived) {
  let upstream = serve(0, handler);
  const { port } = upstream.addr;
  const gateway = await openGatewayTo(port);
  return {
    url: gateway.url,
    async see(path: string, headers: Record<string, string>): Promise<Seen> {
      const response = await fetch(gateway.url + path, { headers });
      assert.equal(response.status, 200);
      return await response.json();
    },
    async restartUpstream() {
      await upstream.shutdown();
      upstream = serve(port, handler);
    },
    async [Symbol.asyncDispose]() {
      await gateway.stop();
      await upstream.shutdown();
    },
  };
}

function serve(port: number, handler: Deno.ServeHandler) {
  return Deno.serve({ hostname: "127.0.0.1", port, onListen() {} }, handler);
}

/** A gateway whose upstream listens on `port`. */
export async function openGatewayTo(
  port: number,
  options: { readonly silenceMilliseconds?: number } = {},
) {
  const gateway = await startGateway({
    ...options,
    port: 0,
    keys: KEYS,
    upstreams: {
      postgrest: port,
      storage: port,
      auth: port,
      functions: new Map([["echo", port], ["down", await freePort()], ["starting", 0]]),
    },
  });
  return {
    url: `http://127.0.0.1:${gateway.port}`,
    port: gateway.port,
    stop: gateway.stop,
    [Symbol.asyncDispose]: gateway.stop,
  };
}

function tellWhatArrived(request: Request): Response {
  const url = new URL(request.url);
  return Response.json({
    path: url.pathname + url.search,
    headers: Object.fromEntries(request.headers),
  });
}

import { nodeModule } from "../../platform.ts";

export interface HttpModules {
  readonly http: typeof import("node:http");
  readonly stream: typeof import("node:stream");
  readonly tls: typeof import("node:tls");
}

/** Loaded by the first request. Throws on platforms that lack these modules. */
export async function httpModules(): Promise<HttpModules> {
  const [http, stream, tls] = await Promise.all([
    nodeModule<typeof import("node:http")>("node:http"),
    nodeModule<typeof import("node:stream")>("node:stream"),
    nodeModule<typeof import("node:tls")>("node:tls"),
  ]);
  if (http === null || stream === null || tls === null) {
    throw new Error("This platform has no HTTP client of Node's kind.");
  }
  return { http, stream, tls };
}

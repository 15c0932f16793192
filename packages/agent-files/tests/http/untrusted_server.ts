import { createServer } from "node:https";
import { makeCertificate } from "./certificate.ts";

export interface UntrustedServer extends AsyncDisposable {
  readonly url: string;
}

/** A server with an untrusted certificate. */
export async function startUntrustedServer(): Promise<UntrustedServer> {
  const { key, cert } = await makeCertificate();
  const server = createServer({ key, cert }, (_request, response) => response.end("{}"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `https://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

import { createServer } from "node:https";
import { type Certificate, makeCertificate } from "./certificate.ts";

export interface UntrustedServer extends AsyncDisposable {
  readonly url: string;
  readonly certificate: Certificate;
}

/** A server with a certificate that nobody trusts. */
export async function startUntrustedServer(): Promise<UntrustedServer> {
  const certificate = await makeCertificate();
  const { key, cert } = certificate;
  const server = createServer({ key, cert }, (_request, response) => response.end("{}"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `https://127.0.0.1:${port}`,
    certificate,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

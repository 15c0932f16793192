import { readFile } from "node:fs/promises";
import process from "node:process";
import { noProxyVariable, proxyVariable } from "./proxy_variables.ts";

/**
 * A `fetch` that follows HTTPS_PROXY, HTTP_PROXY and NO_PROXY by the same rules on Node and Deno;
 * on Node also SSL_CERT_FILE and NODE_EXTRA_CA_CERTS. Undefined if the platform's own `fetch`
 * suffices: if none of these variables needs another one, and in Bun, which has its own rules.
 * Rejects with RangeError for a variable that cannot be used.
 */
export async function neededFetch(): Promise<typeof fetch | undefined> {
  if ("Bun" in globalThis) return undefined;
  // Deno has its own variable for certificates, which also applies to `node:https`.
  const certificateFile = "Deno" in globalThis ? undefined : process.env["SSL_CERT_FILE"];
  const httpProxy = proxyVariable("http_proxy");
  const httpsProxy = proxyVariable("https_proxy") ?? httpProxy;
  if (!httpProxy && !httpsProxy && !certificateFile) return undefined;
  // Loaded only if needed.
  const [{ fetchByAgent }, { routes }] = await Promise.all([
    import("./fetch_by_agent.ts"),
    import("./proxy_agents.ts"),
  ]);
  const ca = certificateFile ? await trustedCertificates(certificateFile) : undefined;
  const noProxy = noProxyVariable();
  return fetchByAgent(routes({ httpProxy, httpsProxy, noProxy, ca }), { ca });
}

/**
 * SSL_CERT_FILE replaces the built-in certificates, as in OpenSSL. NODE_EXTRA_CA_CERTS adds to it.
 */
async function trustedCertificates(certificateFile: string): Promise<string[]> {
  const certificates = [await read(certificateFile, "SSL_CERT_FILE")];
  const extra = process.env["NODE_EXTRA_CA_CERTS"];
  if (extra) certificates.push(await read(extra, "NODE_EXTRA_CA_CERTS"));
  return certificates;
}

async function read(path: string, variable: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    const message = `The file of ${variable} cannot be read: ${(cause as Error).message}.`;
    throw Object.assign(new RangeError(message), { cause });
  }
}

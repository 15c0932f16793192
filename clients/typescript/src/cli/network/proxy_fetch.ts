import { readFile } from "node:fs/promises";
import process from "node:process";
import { noProxyVariable, proxyVariable } from "../../http/proxy_variables.ts";
import { UsageError } from "../command/usage_error.ts";

/**
 * A `fetch` that follows HTTPS_PROXY, HTTP_PROXY, NO_PROXY, SSL_CERT_FILE and NODE_EXTRA_CA_CERTS;
 * undefined if the platform's own `fetch` suffices: if none of the first four is set, and in Deno
 * and Bun. Node reads proxies only from version 22.21 and 24.5 on, if NODE_USE_ENV_PROXY is set,
 * and SSL_CERT_FILE only with an option. Throws UsageError.
 */
export async function proxyFetch(): Promise<typeof fetch | undefined> {
  if ("Deno" in globalThis || "Bun" in globalThis) return undefined;
  const certificateFile = process.env["SSL_CERT_FILE"];
  const httpProxy = proxyOf("http_proxy");
  const httpsProxy = proxyOf("https_proxy") ?? httpProxy;
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

function proxyOf(name: "http_proxy" | "https_proxy"): URL | undefined {
  try {
    return proxyVariable(name);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
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
    throw new UsageError(message, { cause });
  }
}

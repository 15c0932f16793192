import { readFile } from "node:fs/promises";
import process from "node:process";
import { UsageError } from "../command/usage_error.ts";

/**
 * A `fetch` that follows HTTPS_PROXY, HTTP_PROXY, NO_PROXY, SSL_CERT_FILE and NODE_EXTRA_CA_CERTS;
 * undefined where the platform's own does: if none of the first four is set, and in Deno and Bun.
 * Node reads proxies only from version 24 on, if NODE_USE_ENV_PROXY is set, and SSL_CERT_FILE only
 * with an option. Throws UsageError.
 */
export async function proxyFetch(): Promise<typeof fetch | undefined> {
  if ("Deno" in globalThis || "Bun" in globalThis) return undefined;
  const certificateFile = process.env["SSL_CERT_FILE"];
  const [httpProxy, httpsProxy] = [proxyOf("http_proxy"), proxyOf("https_proxy")];
  if (!httpProxy && !httpsProxy && !certificateFile) return undefined;
  // It is large, and of use only here.
  // By its default export: a bundle of it has no other.
  const { default: undici } = await import("undici");
  const ca = certificateFile ? await trustedCertificates(certificateFile) : undefined;
  const dispatcher = new undici.EnvHttpProxyAgent({
    ...(httpProxy && { httpProxy }),
    ...(httpsProxy && { httpsProxy }),
    noProxy: process.env["no_proxy"] || process.env["NO_PROXY"] || "",
    // Proxies commonly allow CONNECT to port 443 alone. HTTPS always uses it.
    proxyTunnel: false,
    ...(ca && { connect: { ca }, proxyTls: { ca }, requestTls: { ca } }),
  });
  const send = undici.fetch as unknown as typeof fetch;
  // A field of undici's own, which the standard's type does not have.
  const byProxy: object = { dispatcher };
  return (input, init) => send(input, { ...init, ...byProxy });
}

/** The variable in lower case wins, as with curl. */
function proxyOf(name: "http_proxy" | "https_proxy"): string | undefined {
  const given = process.env[name] || process.env[name.toUpperCase()];
  if (!given) return undefined;
  // curl takes a proxy without a scheme.
  const url = /^[a-z0-9]+:\/\//i.test(given) ? given : `http://${given}`;
  if (URL.canParse(url) && /^(?:https?|socks5?):$/.test(new URL(url).protocol)) return url;
  // It may have a password, so it is not repeated.
  throw new UsageError(`${name.toUpperCase()} is not the URL of a proxy.`);
}

/**
 * As OpenSSL does, SSL_CERT_FILE takes the place of the built-in certificates. NODE_EXTRA_CA_CERTS
 * adds to it.
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

/** `agent-files/proxy`: for programs whose network is reached through a proxy. */
import { neededFetch } from "./needed_fetch.ts";

/**
 * A `fetch` that follows HTTPS_PROXY, HTTP_PROXY and NO_PROXY by curl's rules, on Node and Deno; on
 * Node also SSL_CERT_FILE and NODE_EXTRA_CA_CERTS. If none of them is set, and in Bun, it is the
 * platform's own `fetch`. Rejects with RangeError for a variable that cannot be used.
 */
export async function proxyFetch(): Promise<typeof fetch> {
  return await neededFetch() ?? fetch;
}

/** Fetches what an issuer publishes. Refuses internal addresses, redirects and large answers. */
import { Buffer } from "node:buffer";
import { publicAddresses, sendPinned, urlComplaint, type UrlOptions } from "./pinned_request.ts";

const MOST_BYTES = 256 * 1024;

/** Fetches JSON. Throws unless the answer is a 200 of at most MOST_BYTES. */
export async function fetchJson(
  address: string,
  options: UrlOptions & { readonly signal: AbortSignal },
): Promise<unknown> {
  const complaint = urlComplaint(address, options);
  if (complaint !== null) throw new Error(complaint);
  const url = new URL(address);
  const { signal } = options;
  const addresses = await publicAddresses(url, signal);
  if (addresses === null) throw new Error("has an address inside a private network.");
  const { status, headers, body } = await sendPinned({
    url,
    addresses,
    headers: { accept: "application/json", "accept-encoding": "identity" },
    mostBytes: MOST_BYTES,
    signal,
  });
  if (status !== 200) throw new Error(`answered with status ${status}.`);
  return await readJson(new Response(body, { headers }), MOST_BYTES);
}

/** Parses a body as JSON. Throws if it is not JSON, or larger than `mostBytes`. */
export async function readJson(response: Response, mostBytes: number): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop early cancels the body.
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > mostBytes) throw new Error(`answered more than ${mostBytes} bytes.`);
    chunks.push(chunk);
  }
  // Without a byte order mark, which a parser may ignore (RFC 8259, 8.1).
  const text = new TextDecoder().decode(Buffer.concat(chunks));
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message would quote the text.
    throw new Error(`answered no JSON (${response.headers.get("content-type") ?? "no type"}).`);
  }
}

import { type JsonObject, SECRET_KEY } from "../conformance/client.ts";
import type { Random } from "../seeds/random.ts";
import { mutateObject, mutateText } from "./values.ts";

/** A request whose answer is 2xx if it is sent unchanged. */
export interface ValidRequest {
  /** Default: POST. */
  readonly method?: "GET" | "POST";
  /** Includes the function's name, for example /agent-artifacts/list. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Not sent with a GET. */
  readonly body: JsonObject;
}

export interface Mutant {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer>;
}

/**
 * Applies one to three changes to the fields of a valid request. Sometimes also changes its
 * headers, path, method or encoding.
 */
export function mutate(valid: ValidRequest, random: Random): Mutant {
  let { body, headers, path } = valid;
  for (let changes = 1 + random.below(3); changes > 0; changes--) {
    body = mutateObject(body, random);
  }
  // Change at most one thing outside the body. Otherwise hardly any request reaches the fields.
  const around = random.below(20);
  if (around === 0) headers = mutateHeaders(headers, random);
  if (around === 1) path = `${path}${random.pick(["x", "/x", "//", "?x=%", "/\u00e9"])}`;
  const method = around === 2
    ? random.pick(["GET", "PUT", "PATCH", "DELETE"])
    : valid.method ?? "POST";
  const text = isForm(valid.headers) ? formOf(body) : JSON.stringify(body);
  return {
    method,
    path,
    headers,
    body: around === 3 || around === 4 ? mutateBytes(text, random) : encode(text),
  };
}

/** The headers of a request whose body is a form. */
export const FORM_HEADERS = { "content-type": "application/x-www-form-urlencoded" };

export function isForm(headers: ValidRequest["headers"]): boolean {
  return headers["content-type"] === FORM_HEADERS["content-type"];
}

/** Encodes the fields as a form. A field that is not a string is written as JSON. */
export function formOf(fields: JsonObject): string {
  const texts = Object.entries(fields).map(([name, value]) => [
    name,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  return new URLSearchParams(texts).toString();
}

function mutateHeaders(
  headers: Readonly<Record<string, string>>,
  random: Random,
): Record<string, string> {
  const credential = headers["authorization"] ?? SECRET_KEY;
  return random.pick([
    () => ({}),
    () => ({ authorization: sendable(mutateText(credential, random)) }),
    () => ({ ...headers, apikey: sendable(mutateText(SECRET_KEY, random)) }),
    () => ({ apikey: SECRET_KEY }),
    () => ({ ...headers, "x-request-id": sendable(mutateText("r-1", random)) }),
    () => ({ ...headers, accept: sendable(mutateText("text/plain, */*;q=0.1", random)) }),
    () => ({ ...headers, "content-type": sendable(mutateText("text/plain", random)) }),
  ])();
}

/** A text that a header can carry: only bytes, and no line break. */
function sendable(text: string): string {
  return text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, "?").trim();
}

/** Bytes that are no longer JSON, or JSON of an unusual form. */
function mutateBytes(text: string, random: Random): Uint8Array<ArrayBuffer> {
  const at = random.below(text.length + 1);
  return random.pick([
    () => encode(text.slice(0, at)),
    () => encode(mutateText(text, random)),
    () => encode(`\ufeff${text}`),
    () => encode(`[${text}]`),
    () => encode(`${text}${text}`),
    () => encode(text.replace("{", '{"agent_id": 1, ')),
    () => encode(text.replace(/:[^,}]*/, ": 1e999")),
    () => encode("[".repeat(1 + random.below(60_000))),
    () => encode(text.replace("{", `{${" ".repeat(random.below(70_000))}`)),
    () => Uint8Array.from(encode(text), (byte, index) => index === at ? random.below(256) : byte),
  ])();
}

function encode(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

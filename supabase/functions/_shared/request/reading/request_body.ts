import { Buffer } from "node:buffer";
import type * as z from "zod";
import { ServiceError } from "../errors.ts";

/** Longest request body, in bytes. */
const MAX_BODY_BYTES = 64 * 1024;

/** How long a body may take to arrive. */
const MAX_READING_MILLISECONDS = 10_000;

/** How much of an unwanted body is still read, and for how long. */
const MAX_DISCARDED_BYTES = 1024 ** 2;
const MAX_DISCARDING_MILLISECONDS = 250;

/**
 * Reads the rest of a request's body that a refusal left unread. The platform's Deno (2.1) resets a
 * connection whose body was not read to its end, and the sender then loses the answer too. Limited
 * in time, for a body that does not arrive. Never throws.
 */
export async function discardBody(request: Request): Promise<void> {
  if (!request.bodyUsed) await discardRest(request.body);
}

async function discardRest(body: ReadableStream<Uint8Array> | null): Promise<void> {
  if (body === null) return;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeIsOver = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, MAX_DISCARDING_MILLISECONDS);
  });
  // Ignore errors: a sender that disconnects no longer wants the answer.
  await Promise.race([drain(body).catch(() => {}), timeIsOver]);
  clearTimeout(timer);
}

async function drain(body: ReadableStream<Uint8Array>): Promise<void> {
  let discarded = 0;
  for await (const chunk of body) {
    discarded += chunk.byteLength;
    if (discarded > MAX_DISCARDED_BYTES) return;
  }
}

/**
 * The request's body as a JSON object, whatever its Content-Type. An empty body counts as `{}`.
 * Throws body_too_large or invalid_json. A body that does not arrive in time is invalid_json too:
 * the wire contract has no 408, and a part of a body is no JSON object.
 */
export async function readJsonObject(
  request: Request,
  { withinMilliseconds = MAX_READING_MILLISECONDS }: { withinMilliseconds?: number } = {},
): Promise<object> {
  let body: unknown;
  try {
    const bytes = await inTime(readBody(request), withinMilliseconds);
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    body = text.trim() === "" ? {} : JSON.parse(text);
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    // The cause is left out: a parser's message quotes the body, and bodies hold grant tokens.
    throw new ServiceError("invalid_json");
  }
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw new ServiceError("invalid_json");
  }
  return body;
}

/** Throws invalid_json when the time is over, so that a slow sender does not hold a connection. */
export async function inTime<Bytes>(reading: Promise<Bytes>, milliseconds: number): Promise<Bytes> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeIsOver = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const message = `The request body did not arrive within ${milliseconds / 1000} seconds.`;
      reject(new ServiceError("invalid_json", { message }));
    }, milliseconds);
  });
  return await Promise.race([reading, timeIsOver]).finally(() => clearTimeout(timer));
}

export async function readBody(request: Request): Promise<ArrayBuffer | Uint8Array> {
  const announced = request.headers.get("content-length");
  if (announced === null) return await readBodyOfAnyLength(request);
  if (Number(announced) > MAX_BODY_BYTES) throw new ServiceError("body_too_large");
  // HTTP delivers no more than was announced. Reading a small body in chunks costs twice as much.
  return await request.arrayBuffer();
}

async function readBodyOfAnyLength({ body }: Request): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Do not cancel a body that is too large: its rest has to be discarded.
  for await (const chunk of body?.values({ preventCancel: true }) ?? []) {
    size += chunk.byteLength;
    if (size > MAX_BODY_BYTES) {
      await discardRest(body);
      throw new ServiceError("body_too_large");
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * Parses `body` by `schema`. Throws invalid_request, with one issue for every bad field. A field
 * that the schema does not know is bad: it may be a mistyped one that was to limit something.
 */
export async function parseBody(schema: z.ZodType, body: object): Promise<unknown> {
  const parsed = schema.safeParse(body);
  // zod passes over a field of this name.
  if (parsed.success && !Object.hasOwn(body, "__proto__")) return parsed.data;
  const { invalidRequest } = await import("./invalid_request.ts");
  throw invalidRequest(schema, body);
}

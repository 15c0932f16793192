/** What one request sends. A stream can be sent only once. */
export interface Sent {
  readonly url: URL;
  readonly method: string;
  readonly headers: Headers;
  readonly body: Uint8Array | ReadableStream<Uint8Array> | null;
}

/** What passes between the two ends of a connection in two threads. */
export type PortMessage =
  /** Bytes, from either end. */
  | { readonly is: "bytes"; readonly bytes: Uint8Array<ArrayBuffer> }
  /** So many bytes were consumed: as many more may be sent. */
  | { readonly is: "consumed"; readonly length: number }
  /** The direction of the sender has ended. */
  | { readonly is: "end" }
  /** No more bytes: both directions have ended, or broke. */
  | { readonly is: "failed"; readonly error: SentError }
  /** The last message of a thread that has read everything, or that closes or has lost it. */
  | { readonly is: "close" }
  | { readonly is: "abort" };

/** An error, as one thread tells it to another. */
export interface SentError {
  readonly code: string | null;
  readonly message: string;
}

/** The most bytes of one direction that wait in the other thread. */
export const WINDOW_BYTES: number = 512 * 1024;

/** More in one message would hold up other connections. */
export const CHUNK_BYTES: number = 64 * 1024;

/** Bytes of their own, which the other thread may keep. */
export function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes);
}

/** In Node and Deno, a message that is lost is not sent at all: the other thread has ended. */
export function send(port: MessagePort, message: PortMessage): void {
  const transfer = message.is === "bytes" ? [message.bytes.buffer] : [];
  port.postMessage(message, transfer);
}

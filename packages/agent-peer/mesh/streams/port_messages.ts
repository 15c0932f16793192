/** The messages between the two ends of a connection in two threads. */
export type PortMessage =
  /** Bytes, from either end. */
  | { readonly is: "bytes"; readonly bytes: Uint8Array<ArrayBuffer> }
  /** `length` bytes were consumed, so as many more may be sent. */
  | { readonly is: "consumed"; readonly length: number }
  /** The direction of the sender has ended. */
  | { readonly is: "end" }
  /** No more bytes follow: both directions have ended, or broke. */
  | { readonly is: "failed"; readonly error: SentError }
  /** A thread's last message: it has read everything, or closes or has lost the connection. */
  | { readonly is: "close" }
  | { readonly is: "abort" };

/** An error, in the form that one thread sends to another. */
export interface SentError {
  readonly code: string | null;
  readonly message: string;
}

/** The most bytes of one direction that wait in the other thread. */
export const WINDOW_BYTES: number = 512 * 1024;

/** The most bytes in one message. More would delay other connections. */
export const CHUNK_BYTES: number = 64 * 1024;

/** A copy of the bytes, which can be transferred to the other thread. */
export function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes);
}

/** If the other thread has ended, Node and Deno drop the message, and do not throw. */
export function send(port: MessagePort, message: PortMessage): void {
  const transfer = message.is === "bytes" ? [message.bytes.buffer] : [];
  port.postMessage(message, transfer);
}

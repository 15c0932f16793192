/** Why a connection could not be made, or broke. The names are those of Node's socket errors. */
export type TcpErrorCode =
  /** The other side answered with a reset: nothing listens there. */
  | "ECONNREFUSED"
  /** The other side, or a revoked rule, ended the connection with a reset. */
  | "ECONNRESET"
  /** The other side stopped answering. */
  | "ETIMEDOUT"
  /** There is no route to the address: this stack has no address of that IP family. */
  | "ENETUNREACH"
  /** The port is taken by another listener. */
  | "EADDRINUSE"
  /** This side ended the connection, or closed the stack. */
  | "ECONNABORTED"
  /** This side has ended its direction already. */
  | "EPIPE"
  /** The stack has no memory left. */
  | "ENOBUFS";

const SENTENCES: Readonly<Record<TcpErrorCode, string>> = {
  ECONNREFUSED: "The peer refused the connection: nothing listens on that port.",
  ECONNRESET: "The connection was reset.",
  ETIMEDOUT: "The peer does not answer.",
  ENETUNREACH: "The address cannot be reached from this stack.",
  EADDRINUSE: "Another listener has this port.",
  ECONNABORTED: "The connection was closed on this side.",
  EPIPE: "Nothing can be written after the end.",
  ENOBUFS: "The TCP/IP stack has no memory left.",
};

/** An error of a connection or a listener. */
export class TcpError extends Error {
  override readonly name: string = "TcpError";
  readonly code: TcpErrorCode;

  /** `reason`, without a full stop, is added to the sentence. */
  constructor(
    code: TcpErrorCode,
    { reason, ...options }: ErrorOptions & { readonly reason?: string } = {},
  ) {
    const sentence = SENTENCES[code];
    super(reason === undefined ? sentence : `${sentence.slice(0, -1)}: ${reason}.`, options);
    this.code = code;
  }
}

/** lwIP's error numbers that an application is told about. */
const LWIP_ABORTED = -13;
const LWIP_CLOSED = -15;

/** The error for a number of lwIP, or null if both sides ended the connection. */
export function errorOfNumber(
  number: number,
  isConnecting: boolean,
): TcpError | null {
  if (number === LWIP_CLOSED) return null;
  if (number === LWIP_ABORTED) return new TcpError("ETIMEDOUT");
  return new TcpError(isConnecting ? "ECONNREFUSED" : "ECONNRESET");
}

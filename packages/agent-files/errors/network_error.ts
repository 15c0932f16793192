import { AgentError } from "./agent_error.ts";

/** Failures that a retry cannot fix, recognised by the platforms' error texts. */
const FINAL_REASONS: readonly (readonly [RegExp, (match: RegExpMatchArray) => string])[] = [
  [
    // ENOTFOUND is from Node and Bun, the others are from Deno.
    /\bENOTFOUND\b(?: (\S+))?|invalid dns name|dns error: .*(?:Name or service not known|nodename nor servname|No such host|No address associated)/,
    ([, name]) => `the name ${name ? `${name} ` : ""}does not exist. Check the URL`,
  ],
  [
    /\b(?:CERT_[A-Z_]+|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(?:GET|VERIFY|DECODE)_[A-Z_]+|ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE)\b|invalid peer certificate: [^;]*|certificate is not trusted/,
    ([fact]) => `its certificate is not trusted (${fact})`,
  ],
  [
    /\bERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)\b|InvalidContentType|TLS handshake failed/,
    () => "it does not answer in TLS. Check the port, and whether the URL begins with http://",
  ],
  [
    /\bbad port\b|Requests to port \d+ are blocked/,
    () => "fetch refuses to use this port",
  ],
  [
    /Proxy response \((403|407)\)/,
    ([, status]) => `the proxy refused with HTTP ${status}. Check its settings and its password`,
  ],
];

/** Temporary failures, and their description. */
const PASSING_REASONS: readonly (readonly [RegExp, string])[] = [
  [
    /\bEAI_AGAIN\b|Temporary failure in name/i,
    "its name cannot be looked up at the moment",
  ],
  [/\bECONNREFUSED\b|Connection refused/i, "connection refused"],
  [/\bECONNRESET\b|Connection reset/i, "connection reset"],
  [/\bEHOSTUNREACH\b|No route to host/i, "no route to the host"],
  [/\bENETUNREACH\b|Network is unreachable/i, "no route to the network"],
  [
    /\b(?:ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)\b|timed out/i,
    "connection timed out",
  ],
];

export interface FailedRequest {
  readonly url: string;
  /**
   * Whether an earlier request to the same origin was answered. The origin's name and certificate
   * were right then, so an error in them may be temporary: some offline machines report that no
   * name exists.
   */
  readonly wasAnswered: boolean;
}

/**
 * The error for what `fetch` threw. It names only the origin, because some paths contain a token.
 */
export function networkError(
  cause: unknown,
  { url, wasAnswered }: FailedRequest,
): AgentError {
  if (!URL.canParse(url)) {
    const message = "The service answered with an invalid URL.";
    return new AgentError({ code: "unexpected_answer", message, cause });
  }
  const { origin } = new URL(url);
  const facts = factsOf(cause);
  const final = finalReason(facts);
  const message = final === null
    ? `${origin} did not answer: ${passingReason(facts)}.`
    : `${origin} cannot be reached: ${final}.`;
  const retryable = final === null || wasAnswered;
  return new AgentError({ code: "network_error", message, retryable, cause });
}

/**
 * The error for a failure while waiting for an answer or reading it. Returns an AgentError, and the
 * abort reason of the caller's signal, unchanged.
 */
export function errorOfFetch(
  cause: unknown,
  { url, signal }: {
    readonly url: string;
    readonly signal: AbortSignal | undefined;
  },
): unknown {
  if (signal?.aborted) return signal.reason;
  if (cause instanceof AgentError) return cause;
  const message = `The connection to ${new URL(url).origin} broke: ${
    passingReason(factsOf(cause))
  }.`;
  return new AgentError({
    code: "network_error",
    message,
    retryable: true,
    cause,
  });
}

function finalReason(facts: readonly string[]): string | null {
  for (const [pattern, reason] of FINAL_REASONS) {
    for (const fact of facts) {
      const match = fact.match(pattern);
      if (match !== null) return reason(match);
    }
  }
  return null;
}

function passingReason(facts: readonly string[]): string {
  for (const [pattern, reason] of PASSING_REASONS) {
    if (facts.some((fact) => pattern.test(fact))) return reason;
  }
  return withoutUrls(facts.at(-1) ?? "no reason is known");
}

interface Thrown {
  readonly code?: unknown;
  readonly message?: unknown;
  readonly cause?: unknown;
}

/** Codes and messages of an error and its causes, with the root cause last. */
function factsOf(cause: unknown): string[] {
  const facts: string[] = [];
  for (let error = cause, depth = 0; error && depth < 5; depth++) {
    // If a name has several addresses, the error has one failure per address. Use the first.
    if (error instanceof AggregateError && error.errors.length > 0) {
      [error] = error.errors;
    }
    const { code, message, cause: deeper } = error as Thrown;
    if (typeof message === "string" && message !== "") facts.push(message);
    if (typeof code === "string") facts.push(code);
    error = deeper;
  }
  return facts;
}

/** Removes URLs: Deno writes the whole URL into the message. */
function withoutUrls(text: string): string {
  const reason = text.split(/client error \(\w+\): /).at(-1)!;
  const plain = reason.replaceAll(/https?:\/\/[^\s)]+/g, "…").trim();
  return plain.slice(0, 200).replace(/\.$/, "");
}

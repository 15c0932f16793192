/**
 * A proxy between one function and the stack. Tests observe, hold and break the calls through it.
 */

export interface Passing {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly headers: Headers;
  readonly body: string;
}

/**
 * Decides what happens to a request. A Response replaces the stack's answer, a promise holds the
 * request until it settles, and undefined lets it pass. `forward` sends the request to the stack,
 * whose answer the function then does not see.
 */
export type Intercept = (
  passing: Passing,
  forward: () => Promise<Response>,
) => Promise<Response | void> | Response | void;

export interface Proxy extends AsyncDisposable {
  readonly url: string;
  /** All requests so far, in order of arrival. */
  readonly passed: Passing[];
  /** Replaces the current interception. */
  intercept(intercept: Intercept): void;
  /** Ends the interception: every request passes. */
  letPass(): void;
}

/** Starts a proxy before `target`, an origin. */
export function startProxy(target: string, initial: Intercept = () => {}): Proxy {
  const passed: Passing[] = [];
  let current = initial;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname, search } = new URL(request.url);
    const { method, headers } = request;
    const passing = { method, path: pathname, headers, body: await request.text() };
    passed.push(passing);
    function forward(): Promise<Response> {
      const forwarded = new Headers(headers);
      forwarded.delete("host");
      return fetch(target + pathname + search, {
        method,
        headers: forwarded,
        body: passing.body === "" ? null : passing.body,
        redirect: "manual",
      });
    }
    return await current(passing, forward) ?? await forward();
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    passed,
    intercept(intercept) {
      current = intercept;
    },
    letPass() {
      current = () => {};
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** Answers 503 instead of every call whose path contains `part`. */
export function failing(part: string): Intercept {
  return ({ path }) => path.includes(part) ? overloaded() : undefined;
}

/**
 * Lets calls whose path contains `part` happen, but answers `status` instead of the real answer.
 */
export function losingAnswers(part: string, status: number): Intercept {
  return async ({ path }, forward) => {
    if (!path.includes(part)) return undefined;
    await (await forward()).body?.cancel();
    return new Response(null, { status });
  };
}

/** Holds every call whose path contains `part` until the gate opens, then lets it pass. */
export function holding(part: string, { wait }: Gate): Intercept {
  return ({ path }) => path.includes(part) ? wait() : undefined;
}

/** Holds calls as `holding` does, but never forwards them: they get 503 when the gate opens. */
export function swallowing(part: string, { wait }: Gate): Intercept {
  return ({ path }) => path.includes(part) ? wait().then(overloaded) : undefined;
}

export function overloaded(): Response {
  return new Response("overloaded", { status: 503 });
}

export interface Gate {
  /** Waits until the gate opens. */
  wait(): Promise<void>;
  /** Resolves when the first caller waits. */
  readonly arrived: Promise<void>;
  open(): void;
}

/** Creates a closed gate. */
export function gate(): Gate {
  const arrival = Promise.withResolvers<void>();
  const opening = Promise.withResolvers<void>();
  return {
    wait() {
      arrival.resolve();
      return opening.promise;
    },
    arrived: arrival.promise,
    open: opening.resolve,
  };
}

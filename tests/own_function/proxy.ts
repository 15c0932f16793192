/** A proxy between one function and the rest of the stack, where a test watches, holds and breaks what passes. */

export interface Passing {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly headers: Headers;
}

/**
 * What becomes of a request: a Response answers in place of the stack; a promise holds it until it settles; `forward`
 * asks the stack, for an answer that is then kept back.
 */
export type Intercept = (
  passing: Passing,
  forward: () => Promise<Response>,
) => Promise<Response | void> | Response | void;

export interface Proxy extends AsyncDisposable {
  readonly url: string;
  /** Every request so far, in order of arrival. */
  readonly passed: Passing[];
  /** Replaces what the proxy was started with. */
  intercept(intercept: Intercept): void;
}

/** Starts a proxy before `target`, an origin. */
export function startProxy(target: string, initial: Intercept = () => {}): Proxy {
  const passed: Passing[] = [];
  let current = initial;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname, search } = new URL(request.url);
    const passing = { method: request.method, path: pathname, headers: request.headers };
    passed.push(passing);
    function forward(): Promise<Response> {
      const headers = new Headers(request.headers);
      headers.delete("host");
      return fetch(target + pathname + search, {
        method: request.method,
        headers,
        body: request.body,
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
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** A point that requests wait at: `arrived` settles when the first is there, and all go on after `open()`. */
export function gate(): { wait(): Promise<void>; readonly arrived: Promise<void>; open(): void } {
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

/** Aborts a request that transfers no data. */
export interface IdleTimeout {
  /** Aborted with the caller's reason, or after `seconds` without a call of `touch`. */
  readonly signal: AbortSignal;
  /** Restarts the countdown: data was transferred. */
  touch(): void;
  /** Stops the countdown until the next call of `touch`. */
  rest(): void;
  /** Call it when the request is over, however it ended. Later calls of `touch` do nothing. */
  end(): void;
}

export function idleTimeout(
  seconds: number,
  signal: AbortSignal | undefined,
): IdleTimeout {
  const controller = new AbortController();
  const expire = () => controller.abort(new Error(`no data for ${seconds} seconds`));
  const follow = () => controller.abort(signal?.reason);
  let timer = setTimeout(expire, seconds * 1000);
  let isOver = false;
  if (signal?.aborted) follow();
  signal?.addEventListener("abort", follow, { once: true });
  return {
    signal: controller.signal,
    touch() {
      clearTimeout(timer);
      // Do not start a timer: Deno reads a body for a moment after its request has failed.
      if (isOver || controller.signal.aborted) return;
      timer = setTimeout(expire, seconds * 1000);
    },
    rest() {
      clearTimeout(timer);
    },
    end() {
      isOver = true;
      clearTimeout(timer);
      signal?.removeEventListener("abort", follow);
    },
  };
}

import type { ServeHandler } from "../../../packages/agent-peer/mesh/index.ts";

/** Answers requests, and remembers their signals. */
export function webServer(): { readonly answer: ServeHandler; readonly signals: () => boolean[] } {
  const signals: AbortSignal[] = [];
  return {
    signals: () => signals.map(({ aborted }) => aborted),
    answer(request, { agentId }) {
      signals.push(request.signal);
      switch (new URL(request.url).pathname) {
        case "/who":
          return new Response(agentId);
        case "/echo":
          return new Response(request.body);
        case "/never":
          return new Promise<Response>(() => {});
        default:
          throw new Error("a secret of the handler");
      }
    },
  };
}

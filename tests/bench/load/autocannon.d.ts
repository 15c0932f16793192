/** What is used of autocannon, which brings no types. */
declare module "autocannon" {
  interface SentRequest {
    method: string;
    path: string;
    headers: Record<string, string>;
    body: string;
  }
  /** Of one request of one connection: what was put into it there is what its answer finds. */
  interface RequestContext {
    index?: number;
  }
  interface Run extends PromiseLike<{ readonly duration: number }> {
    on(
      event: "response",
      listener: (client: unknown, status: number, bytes: number, milliseconds: number) => void,
    ): void;
  }
  export default function autocannon(options: {
    readonly url: string;
    readonly connections: number;
    readonly amount: number;
    readonly timeout: number;
    readonly requests: readonly {
      readonly method: string;
      readonly setupRequest: (request: SentRequest, context: RequestContext) => SentRequest;
      readonly onResponse: (status: number, body: string, context: RequestContext) => void;
    }[];
  }): Run;
}

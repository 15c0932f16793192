/** Types of the part of autocannon that is used. The package brings none. */
declare module "autocannon" {
  interface SentRequest {
    method: string;
    path: string;
    headers: Record<string, string>;
    body: string;
  }
  /**
   * The context of one request of one connection: `onResponse` gets what `setupRequest` stored in
   * it.
   */
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

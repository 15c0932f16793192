/** The receivers of webhooks. They refuse some events at random, and some for ever. */
import type { Random } from "../seeds/random.ts";
import type { Recorder } from "./recorder.ts";

/** One event in this many is refused by every receiver, whenever it comes. */
export const REFUSED_ONE_IN = 50;
const FAILS_ONE_IN = 8;
const MOST_PAUSE_MILLISECONDS = 300;

export interface Receivers extends AsyncDisposable {
  /** Where the receiver of this name gets its events. */
  urlOf(name: string): string;
}

export function startReceivers(recorder: Recorder, random: Random): Receivers {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const header = (name: string) => request.headers.get(`webhook-${name}`) ?? "";
    const id = header("id");
    const always_refused = Number(id.replace("evt_", "")) % REFUSED_ONE_IN === 0;
    const status = await recorder.receive(
      new URL(request.url).pathname.slice(1),
      {
        id,
        timestamp: header("timestamp"),
        signature: header("signature"),
        body: await request.text(),
        always_refused,
      },
      async () => {
        const fails = random.isOneIn(FAILS_ONE_IN);
        await new Promise((resolve) => setTimeout(resolve, random.below(MOST_PAUSE_MILLISECONDS)));
        return always_refused || fails ? random.pick([302, 404, 500, 503]) : 204;
      },
    );
    return new Response(null, { status });
  });
  return {
    urlOf: (name) => `http://127.0.0.1:${server.addr.port}/${name}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

import type { ServiceRequest, State } from "./tcp_protocol.ts";
import { contentsOf, Digest, readLine, writeText } from "./contents.ts";
import type { Stream } from "./streams.ts";

/** What a TCP program does for its incoming connections. */
export class Services {
  readonly #endings: Record<string, number> = {};
  #open = 0;
  #stalled: (() => void)[] = [];

  state(): Pick<State, "endings" | "open"> {
    return { endings: this.#endings, open: this.#open };
  }

  /** Lets the stalled exchanges continue. */
  release(): void {
    for (const goOn of this.#stalled.splice(0)) goOn();
  }

  async serve(stream: Stream): Promise<void> {
    this.#open += 1;
    const ending = await this.#answer(stream).catch(({ code }) => String(code));
    this.#open -= 1;
    this.#endings[ending] = (this.#endings[ending] ?? 0) + 1;
  }

  async #answer(stream: Stream): Promise<string> {
    const first = await readLine(stream);
    if (first === null) return "nothing";
    const request: ServiceRequest = JSON.parse(first.line);
    if (request.do === "reset") {
      for (let count = first.rest.length; count < request.after;) {
        count += (await stream.read())!.length;
      }
      stream.abort();
      return "reset";
    }
    if (request.do === "echo") {
      if (first.rest.length > 0) await stream.write(first.rest);
      for (let bytes; (bytes = await stream.read()) !== null;) await stream.write(bytes);
      await stream.end();
      return "end";
    }
    const { down, seed, isHalfClosed = false, isStalled = false, isUnchecked = false } = request;
    if (isStalled) await new Promise<void>((resolve) => this.#stalled.push(resolve));
    const digest = new Digest(isUnchecked);
    digest.add(first.rest);
    const read = async () => {
      for (let bytes; (bytes = await stream.read()) !== null;) digest.add(bytes);
    };
    const write = async () => {
      for (const chunk of contentsOf(-seed, down)) await stream.write(chunk);
    };
    if (isHalfClosed) {
      await read();
      await write();
    } else await Promise.all([read(), write()]);
    await writeText(stream, digest.text());
    await stream.end();
    return "end";
  }
}

import type { Worker } from "node:worker_threads";
import type { MeshConfiguration } from "../../service.ts";
import type {
  Accept,
  ConnectTo,
  Engine,
  EngineHooks,
  EngineOptions,
  EngineUdpPort,
  PeerState,
} from "../engine/engine.ts";
import { TcpError } from "../../ip/tcp_error.ts";
import type { Datagram } from "../../ip/udp/receive_queue.ts";
import type { ByteStream } from "../byte_stream.ts";
import type { Flow, Refusal } from "../flows/flow.ts";
import { PortStream } from "../streams/port_stream.ts";
import { fromSentError } from "../streams/thread_errors.ts";
import type { EngineCall, FromEngine, ToEngine } from "./messages.ts";

/** Opens an engine in a separate thread, so that packets move while this thread is busy. */
export async function openWorkerEngine(
  worker: Worker,
  options: EngineOptions,
  hooks: EngineHooks,
): Promise<Engine> {
  const engine = new WorkerEngine(worker, hooks);
  try {
    await engine.open(options);
  } catch (error) {
    await engine.close();
    throw error;
  }
  return engine;
}

interface Call {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

class WorkerEngine implements Engine {
  readonly #worker: Worker;
  readonly #hooks: EngineHooks;
  readonly #calls = new Map<number, Call>();
  readonly #listening = new Map<number, Accept>();
  readonly #streams = new Set<PortStream>();
  #peers: readonly PeerState[] = [];
  #publicKey = "";
  #nextId = 1;
  readonly #ready: Promise<void>;
  #resolveReady!: () => void;
  /** The error of every further call; null while the engine works. */
  #end: Error | null = null;

  constructor(worker: Worker, hooks: EngineHooks) {
    this.#worker = worker;
    this.#hooks = hooks;
    this.#ready = new Promise((resolve) => this.#resolveReady = resolve);
    worker.on("message", (message: FromEngine) => this.#take(message));
    worker.on(
      "error",
      (error: unknown) => this.#fail(error instanceof Error ? error : new Error(String(error))),
    );
    worker.on("exit", () => this.#fail(new Error("The thread of the mesh has ended.")));
  }

  get publicKey(): string {
    return this.#publicKey;
  }

  async open(options: EngineOptions): Promise<void> {
    await this.#ready;
    this.#publicKey = await this.#call({
      call: "open",
      options,
      tellsFlows: this.#hooks.onFlow !== undefined,
    }) as string;
  }

  async endpoints(): Promise<readonly string[]> {
    return await this.#call({ call: "endpoints" }) as readonly string[];
  }

  async configure(configuration: MeshConfiguration): Promise<void> {
    await this.#call({ call: "configure", configuration });
  }

  async connect({ address, port, signal }: ConnectTo): Promise<ByteStream> {
    signal?.throwIfAborted();
    const { port1, port2 } = new MessageChannel();
    const attempt = this.#nextId++;
    const giveUp = () => void this.#call({ call: "giveUp", attempt }).catch(() => {});
    signal?.addEventListener("abort", giveUp, { once: true });
    try {
      const to = { address, port };
      await this.#call({ call: "connect", to, attempt, stream: port2 }, [port2]);
      const stream = this.#streamOf(port1);
      if (signal?.aborted) stream.abort();
      signal?.throwIfAborted();
      return stream;
    } catch (error) {
      port1.close();
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener("abort", giveUp);
    }
  }

  async listen(port: number, accept: Accept): Promise<() => void> {
    if (this.#listening.has(port)) throw new TcpError("EADDRINUSE");
    // Set it before the answer, because a connection may follow the answer at once.
    this.#listening.set(port, accept);
    try {
      await this.#call({ call: "listen", port });
    } catch (error) {
      this.#listening.delete(port);
      throw error;
    }
    return () => {
      this.#listening.delete(port);
      void this.#call({ call: "unlisten", port }).catch(() => {});
    };
  }

  async bindUdp(wanted: number): Promise<EngineUdpPort> {
    const port = await this.#call({ call: "bindUdp", port: wanted }) as number;
    return {
      port,
      // `onFailure` and `closed` say why there are no more.
      receive: async () =>
        await this.#call({ call: "receiveUdp", port }).catch(() => []) as Datagram[],
      send: async (data, to) => await this.#call({ call: "sendUdp", port, data, to }) as boolean,
      close: () => void this.#call({ call: "closeUdp", port }).catch(() => {}),
    };
  }

  peers(): readonly PeerState[] {
    return this.#peers;
  }

  async flows(): Promise<readonly Flow[]> {
    return await this.#call({ call: "flows" }) as readonly Flow[];
  }

  refused(refusal: Refusal): void {
    void this.#call({ call: "refused", refusal }).catch(() => {});
  }

  async close(): Promise<void> {
    await this.#call({ call: "close" }).catch(() => {});
    this.#end ??= new Error("The mesh was left.");
    await this.#worker.terminate();
    this.#loseStreams();
  }

  #streamOf(port: MessagePort): PortStream {
    const stream: PortStream = new PortStream(port, () => this.#streams.delete(stream));
    this.#streams.add(stream);
    return stream;
  }

  /** Otherwise their readers would wait for ever, and end with the process as if all had come. */
  #loseStreams(): void {
    for (const stream of this.#streams) stream.lose();
  }

  #call(call: EngineCall, transfer: readonly MessagePort[] = []): Promise<unknown> {
    if (this.#end !== null) return Promise.reject(this.#end);
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#calls.set(id, { resolve, reject });
      this.#post({ is: "call", id, ...call }, transfer);
    });
  }

  #post(message: ToEngine, transfer: readonly MessagePort[] = []): void {
    // Node's types have a MessagePort of their own.
    this.#worker.postMessage(message, transfer as unknown as []);
  }

  #take(message: FromEngine): void {
    switch (message.is) {
      case "ready":
        return this.#resolveReady();
      case "answer":
        return this.#settle(message.id)?.resolve(message.value);
      case "refusal":
        return this.#settle(message.id)?.reject(fromSentError(message.error));
      case "flow":
        return this.#hooks.onFlow?.(message.flow);
      case "refused":
        return this.#hooks.onRefused?.(message.flow);
      case "peers":
        this.#peers = message.peers;
        return;
      case "endpoints":
        return this.#hooks.onEndpoints(message.endpoints);
      case "failure":
        return this.#fail(new Error(message.message));
      case "askIceServers":
        return void this.#answerIceServers(message.id);
      case "accepted": {
        const stream = this.#streamOf(message.stream);
        const accept = this.#listening.get(message.port);
        if (accept === undefined) stream.abort();
        else accept(stream, message.remote);
      }
    }
  }

  #settle(id: number): Call | undefined {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    return call;
  }

  async #answerIceServers(id: number): Promise<void> {
    try {
      const servers = await this.#hooks.iceServers();
      this.#post({ is: "iceServers", id, servers, error: null });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.#post({ is: "iceServers", id, servers: null, error: message });
    }
  }

  #fail(error: Error): void {
    const isFirst = this.#end === null;
    this.#end ??= error;
    this.#resolveReady();
    for (const { reject } of this.#calls.values()) reject(error);
    this.#calls.clear();
    this.#loseStreams();
    if (isFirst) this.#hooks.onFailure(error);
  }
}

import type { Engine, EngineUdpPort } from "../engine/engine.ts";
import { openLocalEngine } from "../engine/local_engine.ts";
import type { RelayAnswer } from "../../paths/paths.ts";
import { isReportable } from "../service/refused_report.ts";
import { servePort } from "../streams/serve_port.ts";
import { toSentError } from "../streams/thread_errors.ts";
import type { EngineCall, FromEngine, ToEngine } from "./messages.ts";

/** How often the application gets the state of the peers, in milliseconds. */
const PEERS_MS = 1000;

type Post = (message: FromEngine, transfer?: readonly MessagePort[]) => void;

interface Question {
  readonly resolve: (servers: RelayAnswer | null) => void;
  readonly reject: (error: Error) => void;
}

/** The engine's side of the boundary between the threads. `WorkerEngine` is the other side. */
export class EngineHost {
  readonly #post: Post;
  #engine: Engine | null = null;
  readonly #attempts = new Map<number, AbortController>();
  readonly #unlisten = new Map<number, () => void>();
  readonly #udpPorts = new Map<number, EngineUdpPort>();
  readonly #questions = new Map<number, Question>();
  #nextId = 1;
  #toldPeers = "";
  #tellsRefused = false;
  #timer: ReturnType<typeof setInterval> | null = null;

  constructor(post: Post) {
    this.#post = post;
  }

  async take(message: ToEngine): Promise<void> {
    if (message.is === "iceServers") return this.#answered(message);
    const { id } = message;
    try {
      this.#post({ is: "answer", id, value: await this.#run(message) });
    } catch (error) {
      this.#post({ is: "refusal", id, error: toSentError(error) });
    }
  }

  async #run(call: EngineCall): Promise<unknown> {
    if (call.call === "open") return await this.#open(call);
    const engine = this.#engine!;
    switch (call.call) {
      case "endpoints":
        return await engine.endpoints();
      case "configure":
        this.#tellsRefused = call.configuration.report_refused ?? false;
        await engine.configure(call.configuration);
        return this.#tellPeers();
      case "connect":
        return await this.#connect(engine, call);
      case "giveUp":
        return this.#attempts.get(call.attempt)?.abort();
      case "listen":
        this.#unlisten.set(call.port, await this.#listen(engine, call.port));
        return;
      case "unlisten":
        this.#unlisten.get(call.port)?.();
        this.#unlisten.delete(call.port);
        return;
      case "bindUdp": {
        const bound = await engine.bindUdp(call.port);
        this.#udpPorts.set(bound.port, bound);
        return bound.port;
      }
      case "receiveUdp":
        return await this.#udpPorts.get(call.port)?.receive() ?? [];
      case "sendUdp":
        return await this.#udpPorts.get(call.port)?.send(call.data, call.to) ?? false;
      case "closeUdp":
        this.#udpPorts.get(call.port)?.close();
        this.#udpPorts.delete(call.port);
        return;
      case "flows":
        return await engine.flows();
      case "refused":
        return engine.refused(call.refusal);
      case "close":
        if (this.#timer !== null) clearInterval(this.#timer);
        return await engine.close();
    }
  }

  async #open({ options, tellsFlows }: Extract<EngineCall, { call: "open" }>): Promise<string> {
    this.#engine = await openLocalEngine(options, {
      iceServers: () => this.#ask(),
      onEndpoints: (endpoints) => this.#post({ is: "endpoints", endpoints }),
      onFlow: (flow) => {
        if (tellsFlows) this.#post({ is: "flow", flow });
        if (this.#tellsRefused && isReportable(flow)) this.#post({ is: "refused", flow });
      },
      onFailure: ({ message }) => this.#post({ is: "failure", message }),
    });
    this.#timer = setInterval(() => this.#tellPeers(), PEERS_MS);
    return this.#engine.publicKey;
  }

  async #connect(
    engine: Engine,
    { to, attempt, stream }: Extract<EngineCall, { call: "connect" }>,
  ): Promise<void> {
    const controller = new AbortController();
    this.#attempts.set(attempt, controller);
    try {
      servePort(stream, await engine.connect({ ...to, signal: controller.signal }));
    } catch (error) {
      stream.close();
      throw error;
    } finally {
      this.#attempts.delete(attempt);
    }
  }

  #listen(engine: Engine, port: number): Promise<() => void> {
    return engine.listen(port, (stream, remote) => {
      const { port1, port2 } = new MessageChannel();
      servePort(port1, stream);
      this.#post({ is: "accepted", port, remote, stream: port2 }, [port2]);
    });
  }

  #tellPeers(): void {
    const peers = this.#engine!.peers();
    const text = JSON.stringify(peers);
    if (text === this.#toldPeers) return;
    this.#toldPeers = text;
    this.#post({ is: "peers", peers });
  }

  #ask(): Promise<RelayAnswer | null> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#questions.set(id, { resolve, reject });
      this.#post({ is: "askIceServers", id });
    });
  }

  #answered({ id, servers, error }: Extract<ToEngine, { is: "iceServers" }>): void {
    const question = this.#questions.get(id);
    this.#questions.delete(id);
    if (error === null) question?.resolve(servers);
    else question?.reject(new Error(error));
  }
}

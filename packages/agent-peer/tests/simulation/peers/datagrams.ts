/** The UDP datagrams that programs send each other, and what must be true of them. */
import type { EngineUdpPort } from "../../../mesh/engine/engine.ts";
import type { Timeline } from "../clock/timeline.ts";
import { bytesOf } from "../../stack/transfer.ts";
import type { Host } from "./host.ts";
import type { Rule } from "./service.ts";

/** Questions to a port. Each is answered. */
export interface DatagramsPlan extends Rule {
  readonly proto: "udp";
  readonly count: number;
  /** In milliseconds: the pause between two questions, and how long an answer takes. */
  readonly every: number;
  readonly answerAfter: number;
  /** Bytes of each datagram, at least as many as its header has. */
  readonly size: number;
}

export interface Exchange {
  readonly number: number;
  readonly plan: DatagramsPlan;
  /** The address and the port of who asks. */
  readonly address: string;
  port: number;
  /** What has arrived, by direction and index. */
  readonly arrived: Set<string>;
  answers: number;
}

type Direction = "question" | "answer";
type Place = { readonly address: string; readonly port: number };

/** The number of the exchange, the index of the datagram, its direction. */
const HEADER = 9;
/** How long who asks waits for the last answers, in milliseconds. */
const LINGER = 5000;

export class Datagrams {
  readonly all: Exchange[] = [];
  readonly #timeline: Timeline;
  readonly #addressOf: (name: string) => string;
  readonly #note: (text: string) => void;
  readonly #complain: (text: string) => void;

  constructor({ timeline, addressOf, note, complain }: {
    readonly timeline: Timeline;
    readonly addressOf: (name: string) => string;
    readonly note: (text: string) => void;
    readonly complain: (text: string) => void;
  }) {
    this.#timeline = timeline;
    this.#addressOf = addressOf;
    this.#note = note;
    this.#complain = complain;
  }

  open(from: Host, plan: DatagramsPlan, whenOver: (exchange: Exchange) => void = () => {}): void {
    const exchange: Exchange = {
      number: this.all.length + 1,
      plan,
      address: this.#addressOf(plan.from),
      port: 0,
      arrived: new Set(),
      answers: 0,
    };
    this.all.push(exchange);
    this.#timeline.at(
      this.#timeline.now,
      () => void this.#ask(from, exchange, whenOver),
      from.clock,
    );
  }

  /** The ports at which a host waits for answers now. */
  openPortsOf(name: string): number[] {
    return this.all.filter(({ plan, port }) => plan.from === name && port !== 0)
      .map(({ port }) => port);
  }

  /** Answers what comes to a port. Call it as the server's program. */
  async serve(host: Host, socket: EngineUdpPort): Promise<void> {
    const { life } = host;
    for await (const { data, ...sender } of datagramsOf(socket)) {
      const question = this.#read(host, "question", { data, sender, port: socket.port });
      if (question === null) continue;
      const { exchange, index } = question;
      setTimeout(() => {
        const answer = contentOf(exchange, index, "answer");
        if (host.life === life) this.#send(host, socket, { exchange, data: answer, to: sender });
      }, exchange.plan.answerAfter);
    }
  }

  async #ask(
    host: Host,
    exchange: Exchange,
    whenOver: (exchange: Exchange) => void,
  ): Promise<void> {
    const { plan } = exchange;
    const { life, engine } = host;
    if (engine === null) return;
    const socket = await engine.bindUdp(0);
    exchange.port = socket.port;
    const to = { address: this.#addressOf(plan.to), port: plan.port };
    for (let index = 0; index < plan.count; index++) {
      setTimeout(() => {
        const data = contentOf(exchange, index, "question");
        if (host.life === life) this.#send(host, socket, { exchange, data, to });
      }, index * plan.every);
    }
    setTimeout(() => {
      exchange.port = 0;
      socket.close();
      this.#note(`datagrams ${exchange.number}: ${exchange.answers} of ${plan.count} answered`);
      if (host.life === life) whenOver(exchange);
    }, plan.count * plan.every + plan.answerAfter + LINGER);
    for await (const { data, ...sender } of datagramsOf(socket)) {
      if (this.#read(host, "answer", { data, sender, port: socket.port }) === null) continue;
      exchange.answers += 1;
    }
  }

  #send(host: Host, socket: EngineUdpPort, { exchange, data, to }: {
    readonly exchange: Exchange;
    readonly data: Uint8Array;
    readonly to: Place;
  }): void {
    // It is sent before `send` returns, so the rules are those of now.
    const isAllowed = host.lets(exchange.plan);
    const { number } = exchange;
    socket.send(data, to).then((isSent) => {
      if (!isSent || isAllowed) return;
      this.#complain(`datagrams ${number}: ${host.name} sends one without a rule`);
    }, (error) => this.#complain(`datagrams ${number}: ${host.name} cannot send: ${error}`));
  }

  /** Judges a datagram. Returns null if there is no reason for it to be here. */
  #read(host: Host, direction: Direction, { data, sender, port }: {
    readonly data: Uint8Array;
    readonly sender: Place;
    /** Where it has arrived. */
    readonly port: number;
  }): { readonly exchange: Exchange; readonly index: number } | null {
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    const isLong = data.length >= HEADER;
    const exchange = isLong ? this.all[view.getUint32(0) - 1] : undefined;
    if (exchange === undefined || !isExpected(exchange, direction, { host, sender, port })) {
      this.#complain(
        `${host.name}:${port} has a datagram from ${sender.address}:${sender.port} that ` +
          `was not to reach it`,
      );
      return null;
    }
    const index = view.getUint32(4);
    const { number, plan, arrived } = exchange;
    if (!areEqual(data, contentOf(exchange, index, direction))) {
      this.#complain(`datagrams ${number}: ${host.name} has another ${direction} than was sent`);
    }
    if (arrived.has(`${direction} ${index}`)) {
      this.#complain(`datagrams ${number}: ${host.name} has a ${direction} twice`);
    }
    arrived.add(`${direction} ${index}`);
    if (!host.lets(plan)) {
      this.#complain(`datagrams ${number}: ${host.name} has a ${direction} without a rule`);
    }
    return { exchange, index };
  }
}

function isExpected({ plan, address, port: asking }: Exchange, direction: Direction, at: {
  readonly host: Host;
  readonly sender: Place;
  readonly port: number;
}): boolean {
  if (direction === "answer") {
    return at.host.name === plan.from && at.port === asking && at.sender.port === plan.port;
  }
  return at.host.name === plan.to && at.port === plan.port && at.sender.address === address;
}

async function* datagramsOf(socket: EngineUdpPort) {
  for (let some; (some = await socket.receive()).length > 0;) yield* some;
}

function contentOf({ number, plan }: Exchange, index: number, direction: Direction): Uint8Array {
  const isAnswer = direction === "answer";
  const data = bytesOf(2 * (1000 * number + index) + Number(isAnswer), plan.size).slice();
  const view = new DataView(data.buffer);
  view.setUint32(0, number);
  view.setUint32(4, index);
  data[8] = Number(isAnswer);
  return data;
}

function areEqual(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}

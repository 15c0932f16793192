import type { Timeline } from "../clock/timeline.ts";
import { Access, PrivateNetwork } from "../network/access.ts";
import { Internet } from "../network/internet.ts";
import { type Envelope, Router } from "../network/router.ts";
import { startStunServer } from "../network/stun_server.ts";
import { Hostile, OPEN_PORT } from "../peers/hostile.ts";
import { Datagrams, type DatagramsPlan } from "../peers/datagrams.ts";
import { Host } from "../peers/host.ts";
import { Service, textOf } from "../peers/service.ts";
import { Streams } from "../peers/streams.ts";
import type { Random } from "../../../../../tests/seeds/random.ts";
import { Disturbances } from "./disturbances.ts";
import type { Findings } from "./findings.ts";
import { canMeet } from "./paths_between.ts";
import { type HostPlan, type Plan, PORTS } from "./plan.ts";
import type { StreamPlan } from "../peers/streams.ts";

const STUN = { address: "192.0.2.1", port: 3478 };
/** How long the first paths may take to be found, in milliseconds. */
const BEGINNING = 4000;

/** The hosts and networks of a plan, and the service that they have in common. */
export class World {
  readonly plan: Plan;
  readonly timeline: Timeline;
  readonly findings: Findings;
  readonly internet: Internet;
  readonly networks: readonly PrivateNetwork[];
  readonly hosts = new Map<string, Host>();
  readonly accesses = new Map<string, Access>();
  readonly service: Service;
  readonly hostile: Hostile | null;
  readonly streams: Streams;
  readonly datagrams: Datagrams;
  readonly disturbances: Disturbances;
  #nextAddress = 1;

  constructor(plan: Plan, { timeline, random, findings }: {
    readonly timeline: Timeline;
    readonly random: Random;
    readonly findings: Findings;
  }) {
    this.plan = plan;
    this.timeline = timeline;
    this.findings = findings;
    this.internet = new Internet(timeline);
    this.service = new Service(timeline, random.fork());
    this.streams = new Streams({ timeline, ...findings });
    this.datagrams = new Datagrams({
      timeline,
      addressOf: (name) => this.service.addressOf(name),
      ...findings,
    });
    this.disturbances = new Disturbances(() => timeline.now);
    startStunServer(this.internet, STUN);
    this.networks = plan.networks.map(({ kind, lifetime }) =>
      new PrivateNetwork(
        this.internet,
        new Router({
          kind,
          lifetime,
          address: this.newAddress(),
          firstPort: 20_000 + random.below(20_000),
          now: () => timeline.now,
        }),
      )
    );
    for (const host of plan.hosts) this.#add(host, random.fork());
    for (const rule of plan.rules) this.service.allow(rule);
    this.hostile = plan.victim === null ? null : this.#addHostile(plan.victim, random.fork());
  }

  /** A public address that nobody has had before. */
  newAddress(): string {
    return `198.51.100.${this.#nextAddress++}`;
  }

  /** Starts every host, and a second later the history. */
  start(): void {
    const { findings, plan } = this;
    for (const { kind, lifetime } of plan.networks) {
      findings.note(`a network behind a router: ${kind}, which forgets after ${lifetime / 1000} s`);
    }
    for (const { name, network, delayMs } of plan.hosts) {
      const where = network === null ? "has a public address" : `is in network ${network}`;
      findings.note(`${name} ${where}, ${delayMs} ms away`);
      this.timeline.at(0, () => this.hosts.get(name)!.start());
      const end = this.disturbances.begin(name, 0);
      this.timeline.at(BEGINNING, end);
    }
    if (this.hostile !== null) {
      findings.note(
        `${this.hostile.name}, a hostile neighbour of ${plan.victim}, has a public address`,
      );
      this.hostile.start();
    }
    for (const rule of plan.rules) findings.note(`rule: ${textOf(rule)}`);
  }

  /** Opens a stream now, and judges how it ends. */
  open(plan: StreamPlan): void {
    const from = this.hosts.get(plan.from)!;
    const begunAt = this.timeline.now;
    const isAllowed = this.service.allows(plan);
    const [one, other] = [plan.from, plan.to].map((name) =>
      this.plan.hosts.find((host) => host.name === name)!
    );
    const mustWork = isAllowed && canMeet(this.plan, one!, other!);
    this.timeline.current = from.clock;
    this.streams.open(from, plan, {
      address: this.service.addressOf(plan.to),
      whenSettled: (stream) => {
        const isCalm = this.disturbances.isCalm(plan, begunAt);
        if (!mustWork || plan.abortAt !== null || stream.client.outcome === "whole") return;
        if (!isCalm) return;
        this.findings.complain(
          `stream ${stream.number} has failed, although nothing has disturbed it: ` +
            `${stream.client.outcome}`,
        );
      },
    });
  }

  /** Sends datagrams from now on. If nothing disturbs them, one at least must be answered. */
  ask(plan: DatagramsPlan): void {
    const begunAt = this.timeline.now;
    const isAllowed = this.service.allows(plan);
    const [one, other] = [plan.from, plan.to].map((name) =>
      this.plan.hosts.find((host) => host.name === name)!
    );
    const mustWork = isAllowed && canMeet(this.plan, one!, other!);
    this.datagrams.open(this.hosts.get(plan.from)!, plan, ({ number, answers }) => {
      if (!mustWork || answers > 0 || !this.disturbances.isCalm(plan, begunAt)) return;
      this.findings.complain(
        `datagrams ${number} have no answer, although nothing has disturbed them`,
      );
    });
  }

  #addHostile(victim: string, random: Random): Hostile {
    const { timeline, service, internet, findings } = this;
    const address = this.newAddress();
    const hostile: Hostile = new Hostile({
      timeline,
      service,
      address,
      random,
      complain: findings.complain,
      leave: (envelope) => access.leave(envelope),
    });
    const access: Access = new Access({
      timeline,
      link: { delayMs: 5 },
      seed: random.below(2 ** 31),
      send: (envelope) => internet.send(envelope),
      receive: (envelope) => hostile.receive(envelope),
    });
    internet.attach(address, (envelope) => access.arrive(envelope));
    service.allow({ from: hostile.name, to: victim, port: OPEN_PORT });
    return hostile;
  }

  #add(plan: HostPlan, random: Random): void {
    const { timeline, service, findings, internet } = this;
    const network = plan.network === null ? null : this.networks[plan.network]!;
    const address = network === null
      ? this.newAddress()
      : `192.168.${plan.network}.${10 + this.hosts.size}`;
    const host: Host = new Host({
      name: plan.name,
      address,
      timeline,
      random,
      service,
      ports: PORTS,
      listenPort: network === null ? 51_820 : 0,
      stunServers: [`stun:${STUN.address}:${STUN.port}`],
      ...findings,
      leave: (envelope) => access.leave(envelope),
      serve: (host, socket) => this.datagrams.serve(host, socket),
      accept: (host, port) => (connection, { address: from }) =>
        this.streams.accept(host, port, { connection, from }),
    });
    const access: Access = new Access({
      timeline,
      link: { delayMs: plan.delayMs },
      seed: plan.seed,
      send: (envelope: Envelope) =>
        network === null ? internet.send(envelope) : network.out(envelope),
      receive: (envelope) => host.receive(envelope),
    });
    if (network === null) internet.attach(address, (envelope) => access.arrive(envelope));
    else network.add(address, access);
    this.hosts.set(plan.name, host);
    this.accesses.set(plan.name, access);
  }
}

import { resolve } from "node:path";
import process from "node:process";
import { UsageError } from "../../command/usage_error.ts";
import { note, plain } from "../../command/terminal/output.ts";
import type { Context } from "../context.ts";
import { defineVerb, type Verb } from "../verb.ts";
import { obey } from "./control.ts";
import { type Exposure, parseExposure } from "../../agent-peer/mesh/proxies/expose.ts";
import {
  type Forwarding,
  parseForwarding,
  parseUdpForwarding,
  type UdpForwarding,
} from "../../agent-peer/mesh/proxies/forward.ts";
import type { ProxyOptions } from "../../agent-peer/mesh/proxies/open_proxies.ts";
import type { Mesh } from "../../agent-peer/mesh/mesh.ts";
import { parsePlace, type Place, textOf } from "../../agent-peer/mesh/proxies/place.ts";
import { dnsPlaceOf, type PortPlace } from "./dns/place.ts";

export const join: Verb = defineVerb({
  summary: "Join the mesh from a sandbox, without root. Other programs use it through proxies.",
  example: "agentfiles mesh join --socks 127.0.0.1:1080\n" +
    "agentfiles mesh join --http-proxy 127.0.0.1:3128 --expose 8080=3000\n" +
    "agentfiles mesh join --forward 5432=db:5432 --forward-udp 5353=dns:53",
  options: {
    socks: {
      type: "string",
      value: "PLACE",
      help: "open a SOCKS5 proxy at a port of this machine, or at the path of a Unix socket",
    },
    "http-proxy": {
      type: "string",
      value: "PLACE",
      help: "open an HTTP proxy at a port of this machine, or at the path of a Unix socket",
    },
    expose: {
      type: "string",
      multiple: true,
      value: "PORT",
      help: "forward connections from this port in the mesh to the same port of this machine, or " +
        "with PORT=LOCAL to another one; can be repeated",
    },
    "expose-udp": {
      type: "string",
      multiple: true,
      value: "PORT",
      help: "the same for the datagrams of a UDP port; can be repeated",
    },
    forward: {
      type: "string",
      multiple: true,
      value: "PLACE=PEER:PORT",
      help: "forward connections from a port of this machine, or from the path of a Unix socket, " +
        "to a port of a peer; can be repeated",
    },
    dns: {
      type: "string",
      value: "PLACE",
      help: "answer DNS queries for <name>.mesh.internal at a port of this machine",
    },
    "forward-udp": {
      type: "string",
      multiple: true,
      value: "PORT=PEER:PORT",
      help: "forward datagrams from a UDP port of this machine to a UDP port of a peer; can be " +
        "repeated",
    },
    flows: {
      type: "string",
      value: "FILE",
      help: "append to this file, as lines of JSON, who connected to which port, and how it ended",
      completes: "file",
    },
    control: {
      type: "boolean",
      help:
        "read from standard input what else to expose, one PORT=LOCAL a line, and end when it " +
        "ends: for a program that starts this command",
    },
    "key-file": {
      type: "string",
      value: "FILE",
      help: "keep the WireGuard private key in this file; default: a new one each time",
      completes: "file",
    },
    "listen-port": {
      type: "string",
      value: "PORT",
      help: "the UDP port of the tunnel; default: any free one",
    },
  },
  async run({ values }, context) {
    const proxies = {
      socks: values.socks === undefined ? undefined : placeOf(values.socks),
      httpProxy: values["http-proxy"] === undefined ? undefined : placeOf(values["http-proxy"]),
      exposures: (values.expose ?? []).map(exposureOf),
      forwardings: (values.forward ?? []).map(forwardingOf),
      udpExposures: (values["expose-udp"] ?? []).map(exposureOf),
      udpForwardings: (values["forward-udp"] ?? []).map(udpForwardingOf),
    };
    const { socks, httpProxy, ...lists } = proxies;
    const isControlled = values.control === true;
    const isUsed = socks || httpProxy || Object.values(lists).some(({ length }) => length > 0);
    if (!isUsed && !isControlled) {
      throw new UsageError(
        "give at least one of --socks, --http-proxy, --expose, --forward, --expose-udp, " +
          "--forward-udp and --control.",
      );
    }
    const { flows } = values;
    const dns = values.dns === undefined ? undefined : dnsPlaceOf(values.dns);
    const keyFile = values["key-file"];
    const listenPort = values["listen-port"];
    await runMember(context, proxies, {
      isControlled,
      flows,
      dns,
      ...(keyFile !== undefined && { keyFile }),
      ...(listenPort !== undefined && { listenPort: portOf(listenPort) }),
    });
  },
});

/** Runs until it is interrupted. Throws the error that ends the membership earlier. */
async function runMember(
  context: Context,
  proxies: ProxyOptions,
  { isControlled, flows, dns, ...options }: {
    readonly isControlled: boolean;
    /** Where names are answered by DNS. */
    readonly dns: PortPlace | undefined;
    /** The file for the flow log. */
    readonly flows: string | undefined;
    readonly keyFile?: string;
    readonly listenPort?: number;
  },
): Promise<void> {
  // Loaded only here: few commands need the code that carries packets.
  const [{ joinWith }, { openLocalEngine }, { openProxies }, { FlowFile }] = await Promise.all([
    import("../../agent-peer/mesh/join.ts"),
    import("../../agent-peer/mesh/engine/local_engine.ts"),
    import("../../agent-peer/mesh/proxies/open_proxies.ts"),
    import("./flows/flow_file.ts"),
  ]);
  const file = flows === undefined ? null : new FlowFile(flows, (message) => note(plain(message)));
  // It closes after the mesh, which ends the connections that are open.
  await using _ = { [Symbol.asyncDispose]: async () => await file?.close() };
  // This process does nothing else, so the tunnel needs no thread of its own.
  await using mesh = await joinWith(openLocalEngine, {
    ...await context.connection(),
    ...options,
    ...(file !== null && { onFlow: (flow) => file.add(flow) }),
  });
  const names = dns === undefined ? null : await openDns(mesh, dns);
  const opened = await openProxies(mesh, proxies);
  const { agentId: agent_id, name, addresses } = mesh;
  const { socks, httpProxy: http_proxy, forwards, udpForwards: udp_forwards } = opened;
  const facts = {
    agent_id,
    name,
    addresses,
    socks,
    http_proxy,
    forwards,
    udp_forwards,
    dns: names,
  };
  await context.output.value(facts, () =>
    [
      `Joined as ${name}: ${addresses.join(", ")}`,
      ...(socks === null ? [] : [`SOCKS5 proxy: ${socks}`]),
      ...(http_proxy === null ? [] : [`HTTP proxy: ${http_proxy}`]),
      ...(names === null ? [] : [`DNS: ${names}`]),
      ...proxies.forwardings.map(({ host, port }, index) =>
        `${forwards[index]} leads to port ${port} of ${host}`
      ),
      ...proxies.udpForwardings.map(({ host, port }, index) =>
        `${udp_forwards[index]} (UDP) leads to UDP port ${port} of ${host}`
      ),
    ].join("\n"));
  try {
    const ends: Promise<Error | null>[] = [mesh.closed, aborted(context.signal)];
    if (isControlled) ends.push(obey(opened, context.output));
    const error = await Promise.race(ends);
    if (error !== null) throw error;
  } finally {
    // An open standard input would keep the process alive.
    if (isControlled) process.stdin.destroy();
    opened.close();
  }
}

/** Resolves to where it listens. It does not keep this process alive. */
async function openDns(mesh: Mesh, place: PortPlace): Promise<string> {
  const { serveNames } = await import("./dns/serve.ts");
  const server = await serveNames(place, (name) => {
    const peer = mesh.peers().find((peer) => peer.name === name);
    return peer === undefined ? null : peer.addresses;
  });
  return textOf(server.place);
}

function aborted(signal: AbortSignal): Promise<null> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(null);
    signal.addEventListener("abort", () => resolve(null), { once: true });
  });
}

function placeOf(text: string): Place {
  const place = parsePlace(text);
  if (place === null) {
    throw new UsageError(
      `${text} is not a port of this machine, such as 127.0.0.1:1080, nor a path with a slash.`,
    );
  }
  return resolved(place);
}

function resolved(place: Place): Place {
  return place.kind === "port" ? place : { ...place, path: resolve(place.path) };
}

function forwardingOf(text: string): Forwarding {
  const forwarding = parseForwarding(text);
  if (forwarding === null) {
    throw new UsageError(
      `${text} is not a place of this machine and a port of a peer, such as 5432=db:5432.`,
    );
  }
  return { ...forwarding, place: resolved(forwarding.place) };
}

function udpForwardingOf(text: string): UdpForwarding {
  const forwarding = parseUdpForwarding(text);
  if (forwarding !== null) return forwarding;
  throw new UsageError(
    `${text} is not a port of 127.0.0.1 and a port of a peer, such as 5353=dns:53.`,
  );
}

function exposureOf(text: string): Exposure {
  const exposure = parseExposure(text);
  if (exposure === null) throw new UsageError(`${text} is not a port, such as 8080 or 8080=3000.`);
  return exposure;
}

function portOf(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return port;
  throw new UsageError(`${text} is not a port.`);
}

import type { Server } from "node:net";
import type { Mesh, MeshListener } from "../mesh.ts";
import { expose, type Exposure } from "./expose.ts";
import { type Forwarding, forwardServer, type UdpForwarding } from "./forward.ts";
import { httpProxyServer } from "./http_proxy.ts";
import { listenAt, type Place, textOf } from "./place.ts";
import { socksServer } from "./socks5.ts";
import { newToken, PROXY_USER } from "./token.ts";
import { type Dial, OpenConnections } from "./tunnelling.ts";
import { exposeUdp } from "./udp/expose_udp.ts";
import { forwardUdp, type LocalPort } from "./udp/forward_udp.ts";

export interface ProxyOptions {
  readonly socks?: Place | undefined;
  readonly httpProxy?: Place | undefined;
  readonly exposures: readonly Exposure[];
  readonly forwardings: readonly Forwarding[];
  readonly udpExposures: readonly Exposure[];
  readonly udpForwardings: readonly UdpForwarding[];
}

/** The URLs of the proxies, with their token. */
export interface OpenProxies {
  readonly socks: string | null;
  readonly httpProxy: string | null;
  /** Where programs connect, in the order of the options: `127.0.0.1:5432`, or a path. */
  readonly forwards: readonly string[];
  /** Where programs send datagrams: `127.0.0.1:5353`. */
  readonly udpForwards: readonly string[];
  /** Exposes a port, or lets one that is exposed lead to another port of this machine. */
  expose(exposure: Exposure): Promise<void>;
  /** Accepts no more connections, and resets those that are open. */
  close(): void;
}

/**
 * Opens proxies, through which programs of this machine use a place in the mesh. Rejects if a port
 * is taken.
 */
export async function openProxies(
  mesh: Mesh,
  { socks, httpProxy, exposures, forwardings, udpExposures, udpForwardings }: ProxyOptions,
): Promise<OpenProxies> {
  const token = newToken();
  const connections = new OpenConnections();
  const dial: Dial = async (to) =>
    connections.add(await mesh.connectNet(to, { allowHalfOpen: true }));
  const opened: (Server | LocalPort)[] = [];
  const exposed = new Map<number, MeshListener>();
  const close = () => {
    for (const one of [...opened, ...exposed.values()]) one.close();
    connections.breakAll();
  };
  const open = async (make: (token: string | null) => Server, place: Place) => {
    const server = make(place.kind === "port" ? token : null);
    opened.push(server);
    return await listenAt(server, place);
  };
  const exposeOne = async (exposure: Exposure) => {
    exposed.get(exposure.port)?.close();
    exposed.delete(exposure.port);
    exposed.set(exposure.port, await expose(mesh, exposure, connections));
  };
  try {
    // Every user can send datagrams to 127.0.0.1, so who chose a Unix socket gets none.
    const udp = socks?.kind === "port" ? { mesh } : null;
    const socksAt = socks && await open((token) => socksServer({ dial, token, udp }), socks);
    const httpAt = httpProxy && await open((token) => httpProxyServer(dial, token), httpProxy);
    const forwards: string[] = [];
    for (const { place, ...to } of forwardings) {
      const server = forwardServer(dial, to);
      opened.push(server);
      forwards.push(textOf(await listenAt(server, place)));
    }
    for (const exposure of exposures) await exposeOne(exposure);
    for (const exposure of udpExposures) opened.push(await exposeUdp({ mesh }, exposure));
    const udpForwards: string[] = [];
    for (const forwarding of udpForwardings) {
      const local = await forwardUdp({ mesh }, forwarding);
      opened.push(local);
      udpForwards.push(`127.0.0.1:${local.port}`);
    }
    return {
      socks: socksAt === undefined ? null : urlOf("socks5h", socksAt, token),
      httpProxy: httpAt === undefined ? null : urlOf("http", httpAt, token),
      forwards,
      udpForwards,
      expose: exposeOne,
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

/** The URL of a proxy, as curl accepts it. curl has no form for an HTTP proxy at a Unix socket. */
function urlOf(scheme: "socks5h" | "http", place: Place, token: string): string {
  if (place.kind === "port") return `${scheme}://${PROXY_USER}:${token}@${textOf(place)}`;
  return scheme === "socks5h"
    ? `socks5h://localhost${place.path}`
    : `http+unix://${encodeURIComponent(place.path)}`;
}

import type { Server } from "node:net";
import type { Mesh, MeshListener } from "../mesh.ts";
import { expose, type Exposure } from "./expose.ts";
import { type Forwarding, forwardServer } from "./forward.ts";
import { httpProxyServer } from "./http_proxy.ts";
import { listenAt, type Place, textOf } from "./place.ts";
import { socksServer } from "./socks5.ts";
import { newToken, PROXY_USER } from "./token.ts";
import { type Dial, OpenConnections } from "./tunnelling.ts";

export interface ProxyOptions {
  readonly socks?: Place | undefined;
  readonly httpProxy?: Place | undefined;
  readonly exposures: readonly Exposure[];
  readonly forwardings: readonly Forwarding[];
}

/** The URLs of the proxies, with their token. */
export interface OpenProxies {
  readonly socks: string | null;
  readonly httpProxy: string | null;
  /** Where programs connect, in the order of the options: `127.0.0.1:5432`, or a path. */
  readonly forwards: readonly string[];
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
  { socks, httpProxy, exposures, forwardings }: ProxyOptions,
): Promise<OpenProxies> {
  const token = newToken();
  const connections = new OpenConnections();
  const dial: Dial = async (to) =>
    connections.add(await mesh.connectNet(to, { allowHalfOpen: true }));
  const opened: Server[] = [];
  const exposed = new Map<number, MeshListener>();
  const close = () => {
    for (const one of [...opened, ...exposed.values()]) one.close();
    connections.breakAll();
  };
  const open = async (make: typeof socksServer, place: Place) => {
    const server = make(dial, place.kind === "port" ? token : null);
    opened.push(server);
    return await listenAt(server, place);
  };
  const exposeOne = async (exposure: Exposure) => {
    exposed.get(exposure.port)?.close();
    exposed.delete(exposure.port);
    exposed.set(exposure.port, await expose(mesh, exposure, connections));
  };
  try {
    const socksAt = socks && await open(socksServer, socks);
    const httpAt = httpProxy && await open(httpProxyServer, httpProxy);
    const forwards: string[] = [];
    for (const { place, ...to } of forwardings) {
      const server = forwardServer(dial, to);
      opened.push(server);
      forwards.push(textOf(await listenAt(server, place)));
    }
    for (const exposure of exposures) await exposeOne(exposure);
    return {
      socks: socksAt === undefined ? null : urlOf("socks5h", socksAt, token),
      httpProxy: httpAt === undefined ? null : urlOf("http", httpAt, token),
      forwards,
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

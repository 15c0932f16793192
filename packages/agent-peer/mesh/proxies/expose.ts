import { connect } from "node:net";
import type { Mesh, MeshListener } from "../mesh.ts";
import { type OpenConnections, splice } from "./tunnelling.ts";

/** A port of the mesh that leads to a port of this machine. */
export interface Exposure {
  readonly port: number;
  readonly localPort: number;
}

/** Reads `8080` or `8080=3000`. Null if the text is neither. */
export function parseExposure(text: string): Exposure | null {
  const [, first, second = first] = /^(\d{1,5})(?:=(\d{1,5}))?$/.exec(text) ?? [];
  const [port, localPort] = [Number(first), Number(second)];
  const isPort = (number: number) => number >= 1 && number <= 65_535;
  return isPort(port) && isPort(localPort) ? { port, localPort } : null;
}

/** Forwards connections of peers, if a rule allows them, to a program on this machine. */
export function expose(
  mesh: Mesh,
  { port, localPort }: Exposure,
  connections: OpenConnections,
): Promise<MeshListener> {
  return mesh.listenNet(port, (socket) => {
    connections.add(socket);
    const local = connect({ host: "127.0.0.1", port: localPort, allowHalfOpen: true });
    splice(socket, local);
  }, { allowHalfOpen: true });
}

/** Two stacks with a link between them. */
import { IpStack } from "../../ip/ip_stack.ts";
import { readLwip } from "../../ip/read_lwip.ts";
import { LinkDirection, type LinkOptions } from "./emulated_link.ts";

export const CLIENT = { ipv4: "10.213.0.1", ipv6: "fd00::1" } as const;
export const SERVER = { ipv4: "10.213.0.2", ipv6: "fd00::2" } as const;

export interface Pair extends Disposable {
  readonly client: IpStack;
  readonly server: IpStack;
  readonly toServer: LinkDirection;
  readonly toClient: LinkDirection;
}

/** Dispose of the pair to stop both stacks. */
export async function connectStacks(options: LinkOptions = {}): Promise<Pair> {
  const seed = options.seed ?? 1;
  const toServer = new LinkDirection({ ...options, seed });
  const toClient = new LinkDirection({ ...options, seed: seed + 1 });
  const wasm = await readLwip();
  const client = await IpStack.create({
    wasm,
    addresses: Object.values(CLIENT),
    onOutput: (packets) => toServer.send(packets),
  });
  const server = await IpStack.create({
    wasm,
    addresses: Object.values(SERVER),
    onOutput: (packets) => toClient.send(packets),
  });
  toServer.receiver = server;
  toClient.receiver = client;
  const dispose = () => {
    client.close();
    server.close();
    toServer.close();
    toClient.close();
  };
  return { client, server, toServer, toClient, [Symbol.dispose]: dispose };
}

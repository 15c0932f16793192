/**
 * Two sandbox peers in one process, each with a tunnel and a stack, connected by an emulated link.
 */
import { readFile } from "node:fs/promises";
import { randomBytes } from "node:crypto";
import { IpStack } from "../../../ip/ip_stack.ts";
import { systemSurroundings } from "../../../wireguard/system_surroundings.ts";
import { type Endpoint, type Surroundings, Tunnel } from "../../../wireguard/tunnel.ts";
import { LinkDirection, type LinkOptions } from "../emulated_link.ts";

export interface End {
  readonly address: string;
  readonly stack: IpStack;
  readonly tunnel: Tunnel;
  /** The direction of the link in which this end sends. */
  readonly link: LinkDirection;
}

export interface Ends {
  readonly left: End;
  readonly right: End;
  close(): void;
}

interface EndOptions extends LinkOptions {
  readonly surroundings?: Surroundings;
}

/** `lwip` is the location of lwIP's file. */
export async function connectEnds(lwip: string | URL, options: EndOptions): Promise<Ends> {
  const wasm = await WebAssembly.compile(new Uint8Array(await readFile(lwip)));
  const seed = options.seed ?? 1;
  const left = await open(1, wasm, { ...options, seed });
  const right = await open(2, wasm, { ...options, seed: seed + 1 });
  for (const [end, other] of [[left, right], [right, left]] as const) {
    other.link.receiver = {
      input: (datagram) => end.tunnel.receiveDatagram(datagram, endpointOf(other)),
    };
    setPeer(end, { other, presharedKey: null });
  }
  const ends = [left, right];
  return {
    left,
    right,
    close() {
      for (const { stack, tunnel, link } of ends) {
        stack.close();
        tunnel.close();
        link.close();
      }
    },
  };
}

function endpointOf({ address }: End): Endpoint {
  return { address: address.replace("10.", "192."), port: 51820, via: "udp" };
}

/** Sets the only peer of an end. If the peer is the same as before, its sessions continue. */
export function setPeer(
  end: End,
  { other, presharedKey }: { readonly other: End; readonly presharedKey: string | null },
): void {
  end.tunnel.setPeers([{
    publicKey: other.tunnel.publicKey,
    presharedKey,
    allowedIps: [`${other.address}/32`],
    endpoints: [endpointOf(other)],
  }]);
}

async function open(
  number: number,
  wasm: WebAssembly.Module,
  { surroundings = systemSurroundings(), ...options }: EndOptions,
): Promise<End> {
  const address = `10.0.2.${number}`;
  const link = new LinkDirection(options);
  const tunnel = new Tunnel({
    privateKey: new Uint8Array(randomBytes(32)),
    surroundings,
    send: (datagram) => link.send([datagram]),
    onPacket: (packet) => stack.input(packet),
  });
  const stack = await IpStack.create({
    wasm,
    addresses: [address],
    onOutput: (packets) => {
      for (const packet of packets) tunnel.sendPacket(packet);
    },
  });
  return { address, stack, tunnel, link };
}

import { Paths, type PathsOptions } from "../paths/paths.ts";
import { Forwarder } from "./datagrams/forwarder.ts";
import type { KernelState } from "./kernel.ts";

/** The parts that find the paths to peers, and send by them. */
export interface Ways {
  readonly paths: Paths;
  readonly forwarder: Forwarder;
}

export async function openWays(
  { publicKey, listenPort }: KernelState,
  { mayReach, ...options }: Omit<PathsOptions, "onChange" | "openSocket"> & {
    readonly openSocket: NonNullable<PathsOptions["openSocket"]>;
    readonly mayReach: (address: string) => boolean;
  },
): Promise<Ways> {
  const paths = await Paths.open({ ...options, onChange: () => {} });
  const forwarder = new Forwarder({
    surroundings: options.surroundings,
    openSocket: options.openSocket,
    publicKey,
    send: (datagram, to) => {
      if (mayReach(to.address)) paths.send(datagram, to);
    },
    rankOf: paths.rankOf,
  });
  forwarder.kernelPort = listenPort;
  paths.attach(forwarder);
  return { paths, forwarder };
}

/** What a tunnel runs, as `wg show <interface> dump` prints it. */
export interface Running {
  readonly publicKey: string;
  readonly listenPort: number;
  readonly peers: ReadonlyMap<string, RunningPeer>;
}

export interface RunningPeer {
  readonly publicKey: string;
  /** "" for none. */
  readonly presharedKey: string;
  /** `<address>:<port>`; null if it has none. */
  readonly endpoint: string | null;
  readonly allowedIps: readonly string[];
  /** Seconds since 1970; 0 if there was no handshake. */
  readonly handshakeAt: number;
  readonly receivedBytes: number;
  /** In seconds; 0 for none. */
  readonly keepalive: number;
}

export function parseDump(text: string): Running {
  const [own = [], ...peers] = text.trimEnd().split("\n").map((line) => line.split("\t"));
  const given = (word: string | undefined) => word === undefined || word === "(none)" ? "" : word;
  return {
    publicKey: given(own[1]),
    listenPort: Number(own[2] ?? 0),
    peers: new Map(peers.map((words) => {
      const [publicKey = "", psk, endpoint, ips, handshake, received, , keepalive] = words;
      const peer: RunningPeer = {
        publicKey,
        presharedKey: given(psk),
        endpoint: given(endpoint) || null,
        allowedIps: given(ips).split(",").filter((ip) => ip !== ""),
        handshakeAt: Number(handshake),
        receivedBytes: Number(received),
        keepalive: keepalive === "off" ? 0 : Number(keepalive),
      };
      return [publicKey, peer] as const;
    })),
  };
}

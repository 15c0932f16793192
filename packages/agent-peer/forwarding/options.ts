import type { openUdpSocket } from "../wireguard/sockets/open_udp_socket.ts";
import type { Kernel } from "./kernel.ts";
import type { PathNews } from "./path_news.ts";
import type { PathService } from "./service.ts";

export interface PathKeeperOptions {
  readonly kernel: Kernel;
  readonly service: PathService;
  /** The file from which the agent learns what this does. */
  readonly stateFile: string;
  /** The file of the agent's peers. If it changes, another configuration is in force. */
  readonly configurationFile: string;
  readonly stunServers: readonly string[];
  readonly onNews: (news: PathNews) => Promise<void>;
  readonly onTrouble: (message: string) => void;
  /** Default: a UDP socket of the system. */
  readonly openSocket?: typeof openUdpSocket;
}

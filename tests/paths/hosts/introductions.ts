import type { PathPeer } from "./path_peer.ts";

/** Tells peers the endpoints of the others whenever these change, as the service does. */
export class Introductions implements AsyncDisposable {
  readonly #peers: readonly PathPeer[];
  #isOver = false;
  readonly #done: Promise<void>;

  constructor(...peers: readonly PathPeer[]) {
    this.#peers = peers;
    this.#done = this.#run();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#done;
  }

  async #run(): Promise<void> {
    let told = "";
    while (!this.#isOver) {
      const states = await Promise.all(this.#peers.map((peer) => peer.state()));
      const current = JSON.stringify(states.map(({ endpoints }) => endpoints));
      if (current !== told) {
        for (const peer of this.#peers) {
          await peer.setPeers(...this.#peers.filter((other) => other !== peer));
        }
      }
      told = current;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

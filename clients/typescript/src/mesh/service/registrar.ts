import type { Peer } from "../../contract/types.ts";
import type { Registration } from "./registration.ts";

export interface RegistrarOptions {
  /** Of now. */
  readonly endpoints: () => readonly string[];
  readonly onRegistered: (self: Peer) => void;
  readonly signal: AbortSignal;
}

/** Keeps the service told of where this agent is. */
export class Registrar {
  readonly #registration: Registration;
  readonly #options: RegistrarOptions;
  /** What the service was told last, as text. Null until it was told for the first time. */
  #told: string | null = null;
  #last: Promise<void> = Promise.resolve();
  #underWay = 0;

  constructor(registration: Registration, options: RegistrarOptions) {
    this.#registration = registration;
    this.#options = options;
  }

  /** One after the other, so that the service is told the newest last. */
  register(): Promise<void> {
    this.#underWay++;
    const register = () => this.#registerNow();
    return this.#last = this.#last.then(register, register).finally(() => this.#underWay--);
  }

  /** Tells what the service does not know, if it was told anything. Later, if that fails now. */
  registerMissed(): void {
    if (this.#told === null || this.#underWay > 0 || this.#told === this.#text()) return;
    this.register().catch(() => {});
  }

  /** The service may know of an earlier registration, or of none. */
  startOver(): Promise<void> {
    this.#told = null;
    return this.register();
  }

  /** Whether no other process has registered this agent after this one. */
  async isNewest(): Promise<boolean> {
    // One that is under way may be the newest.
    while (this.#underWay > 0) await this.#last.catch(() => {});
    return await this.#registration.isNewest({ signal: this.#options.signal });
  }

  /** Once more if they change meanwhile. */
  async #registerNow(): Promise<void> {
    const { endpoints, onRegistered, signal } = this.#options;
    while (this.#told !== this.#text()) {
      const text = this.#text();
      onRegistered(await this.#registration.register(endpoints(), { signal }));
      this.#told = text;
    }
  }

  #text(): string {
    return this.#options.endpoints().join(" ");
  }
}

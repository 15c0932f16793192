import type { Peer } from "../../service.ts";
import type { Registration } from "./registration.ts";

export interface RegistrarOptions {
  /** Returns the current endpoints. */
  readonly endpoints: () => readonly string[];
  readonly onRegistered: (self: Peer) => void;
  readonly signal: AbortSignal;
}

/** Keeps the agent's endpoints in the service up to date. */
export class Registrar {
  readonly #registration: Registration;
  readonly #options: RegistrarOptions;
  /** The endpoints that were registered last, as text. Null before the first registration. */
  #told: string | null = null;
  #last: Promise<void> = Promise.resolve();
  #underWay = 0;

  constructor(registration: Registration, options: RegistrarOptions) {
    this.#registration = registration;
    this.#options = options;
  }

  /**
   * Registers the current endpoints. Requests are sent one after another, so the newest is the
   * last.
   */
  register(): Promise<void> {
    this.#underWay++;
    const register = () => this.#registerNow();
    return this.#last = this.#last.then(register, register).finally(() => this.#underWay--);
  }

  /**
   * After the first registration: registers endpoints that the service does not know yet. If that
   * fails, a later call repeats it.
   */
  registerMissed(): void {
    if (this.#told === null || this.#underWay > 0 || this.#told === this.#text()) return;
    this.register().catch(() => {});
  }

  /** Registers again, because the service may have an earlier registration, or none. */
  startOver(): Promise<void> {
    this.#told = null;
    return this.register();
  }

  /** Whether no other process has registered this agent after this one. */
  async isNewest(): Promise<boolean> {
    // A registration that is under way may be the newest.
    while (this.#underWay > 0) await this.#last.catch(() => {});
    return await this.#registration.isNewest({ signal: this.#options.signal });
  }

  /** Repeats if the endpoints change meanwhile. */
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

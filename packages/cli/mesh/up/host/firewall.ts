/**
 * Loads the tunnel's firewall. A rule that was revoked must be closed even if this host has no
 * memory to start a program. So two programs are started in advance, and wait for their input: an
 * `nft`, which loads the next ruleset, and an `ip`, which removes the interface if that is not
 * possible either.
 */
import type { SentRefusal } from "../../../../agent-peer/service.ts";
import type { Log } from "../basics/log.ts";
import { type Firewall, rulesetOf, tableOf } from "../wanted/ruleset.ts";
import type { Wanted } from "../wanted/accept.ts";
import { ProgramError, run, Started } from "../basics/programs.ts";
import { takeRefused } from "./refused_connections.ts";
import { endRevoked } from "./revoked_connections.ts";

export interface FirewallOptions {
  readonly interfaceName: string;
  readonly firewall: Firewall;
  readonly log: Log;
}

export class TunnelFirewall {
  readonly #options: FirewallOptions;
  #spareNft: Started | null = null;
  #spareIp: Started | null = null;
  /** The ruleset that was loaded last. */
  #loaded: string | null = null;
  /** The configuration whose rules were loaded last. */
  #before: Wanted | null = null;
  /** Whether rules are loaded at all: with `none`, nft may be missing. */
  #hasNft = true;

  constructor(options: FirewallOptions) {
    this.#options = options;
  }

  /** Whether rules can be loaded on this host. Starts the programs that wait. */
  async prepare(): Promise<void> {
    if (this.#options.firewall === "none") {
      this.#hasNft = await run("nft", ["--version"]).then(() => true, () => false);
    }
    this.keepSpares();
  }

  /** Replaces the rules in one transaction. Throws if they could not be loaded. */
  async load(wanted: Wanted, port: number): Promise<void> {
    if (!this.#hasNft) return;
    const { interfaceName, firewall, log } = this.#options;
    const ruleset = rulesetOf(wanted, { interfaceName, firewall, port });
    try {
      await run("nft", ["-f", "-"], { input: ruleset }).catch(async (error) => {
        if (!(error instanceof ProgramError && error.isUnstarted)) throw error;
        // Nothing has removed it, as `isLoaded` says.
        if (ruleset === this.#loaded) return;
        const spare = this.#spareNft;
        if (spare === null) throw error;
        this.#spareNft = null;
        await spare.finish(ruleset);
        log(`${error.message}; the firewall was loaded by a program that was started earlier`);
      });
      this.#loaded = ruleset;
      if (firewall !== "none") await endRevoked(this.#before, wanted);
      this.#before = wanted;
    } catch (error) {
      if (firewall === "none") return log("nft has not loaded the guard against loops");
      throw error;
    }
  }

  /** What peers tried without a rule, if the operator wants to know. Never throws. */
  async takeRefused(): Promise<readonly SentRefusal[]> {
    const { interfaceName, firewall } = this.#options;
    if (firewall === "none" || this.#loaded === null || !this.#before?.reportRefused) return [];
    return await takeRefused(tableOf(interfaceName), this.#before.peers).catch(() => []);
  }

  /**
   * Whether the rules are in the kernel. True also if that cannot be found out: without memory for
   * a program, nobody can have removed them with one.
   */
  async isLoaded(): Promise<boolean> {
    if (!this.#hasNft) return true;
    try {
      await run("nft", ["-t", "list", "table", "inet", tableOf(this.#options.interfaceName)]);
      return true;
    } catch (error) {
      const isUnknown = error instanceof ProgramError && error.isUnstarted;
      if (!isUnknown) this.#loaded = null;
      return isUnknown;
    }
  }

  /** Removes the interface, and then the rules. Works without memory for a program. */
  async close(): Promise<void> {
    const { interfaceName, log } = this.#options;
    this.#loaded = null;
    const removal = ["link", "delete", interfaceName];
    try {
      await run("ip", removal);
    } catch (error) {
      const spare = this.#spareIp;
      if (!(error instanceof ProgramError && error.isUnstarted) || spare === null) return;
      this.#spareIp = null;
      await spare.finish(`${removal.join(" ")}\n`).catch(() => {});
      log(`${error.message}; the tunnel was removed by a program that was started earlier`);
    }
    if (this.#hasNft) {
      await run("nft", ["delete", "table", "inet", tableOf(interfaceName)]).catch(() => {});
    }
  }

  /** Starts the programs that wait, where they are missing. */
  keepSpares(): void {
    if (this.#hasNft && !this.#spareNft?.isRunning) this.#spareNft = waiting("nft", ["-f", "-"]);
    if (!this.#spareIp?.isRunning) this.#spareIp = waiting("ip", ["-batch", "-"]);
  }

  endSpares(): void {
    this.#spareNft?.kill();
    this.#spareIp?.kill();
  }
}

function waiting(program: string, args: readonly string[]): Started {
  const started = new Started(program, args);
  started.unref();
  return started;
}

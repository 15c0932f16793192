import type { AgentError } from "../errors/agent_error.ts";
import { type Credential, type ExpiringKey, GivenCredential } from "./credential.ts";
import {
  checkEnrol,
  type Enrol,
  type Enrolled,
  type EnrolmentRequest,
  type Proof,
  requestOf,
} from "./enrolment_proof.ts";

interface EnrolledCredentialOptions {
  readonly origin: string;
  readonly enrol: Enrol;
  /** Sends /enroll. */
  readonly enroll: (request: EnrolmentRequest) => Promise<Enrolled>;
}

/** The agent keys for one proof at one service. */
class Enrolment {
  readonly credential: Credential = new GivenCredential((refusal) => this.#nextKey(refusal));
  readonly #options: EnrolledCredentialOptions;
  #key: string | null = null;
  #endsAt = Infinity;
  /**
   * Set once another machine has enrolled as the same agent: enrolling again would end that
   * machine's key.
   */
  #superseded: AgentError | null = null;

  constructor(options: EnrolledCredentialOptions) {
    this.#options = options;
  }

  /** Whether the last key has expired, because no request has asked for another one. */
  get hasEnded(): boolean {
    return this.#endsAt < Date.now();
  }

  async #nextKey(refusal: AgentError | undefined): Promise<ExpiringKey> {
    if (this.#superseded !== null) throw this.#superseded;
    const { key, expires_at } = await this.#enrolledKey(refusal);
    this.#key = key;
    this.#endsAt = Date.parse(expires_at);
    return { key, expiresAt: expires_at };
  }

  async #enrolledKey(
    refusal: AgentError | undefined,
  ): Promise<Pick<Enrolled, "key" | "expires_at">> {
    const { origin, enrol } = this.#options;
    try {
      const request = await requestOf(enrol);
      // Loaded here: an object with an agent key does not need it.
      const { KeyFile } = await import("./key_file.ts");
      const file = await KeyFile.of(origin, request, enrol.keyFile);
      const enroll = () => this.#options.enroll(request);
      if (file !== null) {
        const refused = this.#key !== null && refusal ? { key: this.#key, refusal } : null;
        return await file.key({ refused, enroll });
      }
      if (refusal?.code === "superseded") throw refusal;
      return await enroll();
    } catch (error) {
      if ((error as AgentError).code === "superseded") {
        this.#superseded = error as AgentError;
      }
      throw error;
    }
  }
}

/** Shared by all connections. If each enrolled by itself, they would end each other's keys. */
const known = new Map<string, Enrolment>();
/** Numbers that stand for functions in the names of `known`. */
const functions = new WeakMap<object, number>();
let functionCount = 0;

/**
 * The credential for a proof. There is one per service and proof in a process. Throws AgentError
 * `invalid_request` unless there is exactly one proof.
 */
export function enrolledCredential(
  options: EnrolledCredentialOptions,
): Credential {
  const { origin, enrol } = options;
  checkEnrol(enrol);
  const { enrolmentKey, token, agentName = null, enrolmentId = null } = enrol;
  const { instance = null, keyFile = "" } = enrol;
  const proofs = [identityOf(enrolmentKey), identityOf(token)];
  const name = JSON.stringify([
    origin,
    ...proofs,
    agentName,
    enrolmentId,
    instance,
    keyFile,
  ]);
  let enrolment = known.get(name);
  if (enrolment === undefined) {
    for (const [other, { hasEnded }] of known) {
      if (hasEnded) known.delete(other);
    }
    known.set(name, enrolment = new Enrolment(options));
  }
  return enrolment.credential;
}

function identityOf(proof: Proof | undefined): string | number | null {
  if (typeof proof !== "function") return proof ?? null;
  const number = functions.get(proof) ?? functionCount++;
  functions.set(proof, number);
  return number;
}

import * as files from "node:fs/promises";
import { AgentError } from "../../agent-files/errors/agent_error.ts";
import { Connection } from "../../agent-files/http/connection.ts";
import type { CommonOptions } from "../../agent-files/http/connection_options.ts";
import { type Key, NO_CREDENTIAL, renewalOf } from "../../agent-files/http/credential.ts";
import { enrollBy } from "../../agent-files/http/enrolment_proof.ts";
import { withLock } from "../../agent-files/http/lock.ts";
import { type Login, loginFile, readLogin, type StoredProof, writeLogin } from "../login_file.ts";
import { enrolOf } from "./proof.ts";

/** Enrols at the service of `options`, and returns the login to store. Throws AgentError. */
export async function enrolledLogin(
  options: CommonOptions,
  proof: StoredProof,
): Promise<Login> {
  const enrol = enrolOf(proof, options.fetch);
  const connection = new Connection(
    "agent-artifacts",
    { ...options, enrol },
    NO_CREDENTIAL,
  );
  const { key, expires_at } = await enrollBy(connection, enrol);
  const enrolled = {
    proof,
    expiresAt: expires_at,
    renewAt: renewalOf(expires_at),
  };
  return { url: String(options.url), key, enrolled };
}

/**
 * The agent key of an enrolled login. If the service refuses the key, or its renewal is due, which
 * is before it expires, one process of this machine at a time enrols again and stores the new key.
 */
export function storedKey(options: CommonOptions): Key {
  let given: string | null = null;
  return async (refusal) => {
    const isRefused = ({ key }: Login) => refusal !== undefined && key === given;
    let login = await readLogin();
    if (isRefused(login) || isDue(login)) {
      login = await withLock(files, `${loginFile()}.locked`, async () => {
        // Another process may have renewed the key or logged in again meanwhile.
        const present = await readLogin();
        if (isRefused(present)) {
          return await afterRefusal(options, present, refusal!);
        }
        return isDue(present) ? await renewedEarly(options, present) : present;
      });
    }
    given = login.key;
    const { key, enrolled } = login;
    return enrolled === undefined ? key : { key, expiresAt: enrolled.expiresAt };
  };
}

function isDue({ enrolled }: Login): boolean {
  return enrolled !== undefined && !enrolled.isSuperseded &&
    Date.now() >= enrolled.renewAt;
}

async function afterRefusal(
  options: CommonOptions,
  login: Login,
  refusal: AgentError,
): Promise<Login> {
  if (login.enrolled === undefined) throw refusal;
  if (refusal.code !== "superseded") return await renewed(options, login);
  // Do not enrol again: that would end the key of the other machine, which would then enrol in
  // turn.
  if (!login.enrolled.isSuperseded) {
    await writeLogin({
      ...login,
      enrolled: { ...login.enrolled, isSuperseded: true },
    });
  }
  throw refusal;
}

/** If the renewal fails, keeps the current key until it expires. */
async function renewedEarly(
  options: CommonOptions,
  login: Login,
): Promise<Login> {
  try {
    return await renewed(options, login);
  } catch (cause) {
    const hasEnded = Date.parse(login.enrolled!.expiresAt) < Date.now();
    if (hasEnded || !(cause instanceof AgentError)) throw cause;
    return login;
  }
}

/** Does not retry the enrolment: the caller retries the whole request. */
async function renewed(
  options: CommonOptions,
  { url, enrolled }: Login,
): Promise<Login> {
  const login = await enrolledLogin(
    { ...options, url, retrySeconds: 0 },
    enrolled!.proof,
  );
  await writeLogin(login);
  return login;
}

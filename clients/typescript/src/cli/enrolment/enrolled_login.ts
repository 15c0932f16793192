import { AgentError } from "../../errors/agent_error.ts";
import { Connection } from "../../http/connection.ts";
import type { CommonOptions } from "../../http/connection_options.ts";
import { type Key, NO_CREDENTIAL, renewalOf } from "../../http/credential.ts";
import { enrollBy } from "../../http/enrol.ts";
import { type Login, loginFile, readLogin, type StoredProof, writeLogin } from "../login_file.ts";
import { withLockFile } from "./lock_file.ts";
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
 * The key of a login that enrolled. Before it ends, or if it was refused, another one is asked for
 * and stored, by one process of this machine at a time.
 */
export function storedKey(options: CommonOptions): Key {
  let given: string | null = null;
  return async (refusal) => {
    const isRefused = ({ key }: Login) => refusal !== undefined && key === given;
    let login = await readLogin();
    if (isRefused(login) || isDue(login)) {
      login = await withLockFile(`${loginFile()}.lock`, async () => {
        // Another process may have renewed it meanwhile, or logged in otherwise.
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
  // Enrolling would end the key of the other machine, which would do the same.
  if (!login.enrolled.isSuperseded) {
    await writeLogin({
      ...login,
      enrolled: { ...login.enrolled, isSuperseded: true },
    });
  }
  throw refusal;
}

/** A key that still works does until its end, should nobody give another one. */
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

/** The caller's request is what is repeated. */
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

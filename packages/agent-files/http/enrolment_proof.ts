import type { ArtifactsAnswer, ArtifactsRequest } from "../contract/types.ts";
import { AgentError, invalidFields } from "../errors/agent_error.ts";

/** A proof, or a function that returns the current one, which each enrolment calls. */
export type Proof = string | (() => string | Promise<string>);

/**
 * A proof of origin, for which the service gives an agent key: an enrolment key, or a token of an
 * issuer that the operator trusts.
 */
export type Enrol =
  & {
    /** The name of the agent, if the enrolment names none. */
    readonly agentName?: string | undefined;
    /** Which enrolment a token is for, if several match it. */
    readonly enrolmentId?: string | undefined;
    /** Which of several instances of the agent this is, if the enrolment allows several. */
    readonly instance?: string | undefined;
    /**
     * The file in which the processes of this host share the agent key. Default: one for each
     * proof, in a folder of this user below XDG_RUNTIME_DIR or the temporary folder. Null: each
     * process enrols by itself, and the newest ends the keys of the others.
     */
    readonly keyFile?: string | null | undefined;
  }
  & (
    | { readonly enrolmentKey: Proof; readonly token?: undefined }
    | { readonly token: Proof; readonly enrolmentKey?: undefined }
  );

export type EnrolmentRequest = ArtifactsRequest<"/enroll">;
export type Enrolled = ArtifactsAnswer<"/enroll">;

/** A connection that sends no key: the proof is in the request. */
interface Sender {
  post<Answer>(
    path: string,
    body: object,
    options?: { retrySeconds?: number },
  ): Promise<Answer>;
}

/** Throws AgentError `invalid_request` unless there is exactly one proof. */
export function checkEnrol({ enrolmentKey, token }: Enrol): void {
  if ((enrolmentKey === undefined) === (token === undefined)) {
    throw invalidFields([{
      path: "enrol",
      message: "Give either enrolmentKey or token.",
    }]);
  }
}

/** Gets an agent key. Throws AgentError: `key_unavailable` if the function for the proof throws. */
export async function enrollBy(
  sender: Sender,
  enrol: Enrol,
): Promise<Enrolled> {
  return await enroll(sender, await requestOf(enrol));
}

/** Throws AgentError. */
export async function enroll(
  sender: Sender,
  request: EnrolmentRequest,
  options?: { readonly retrySeconds: number },
): Promise<Enrolled> {
  return await sender.post<Enrolled>("/enroll", request, options);
}

/** Throws AgentError: `key_unavailable` if the function for the proof throws. */
export async function requestOf(enrol: Enrol): Promise<EnrolmentRequest> {
  const { agentName, enrolmentId, instance } = enrol;
  return {
    ...await proofOf(enrol),
    ...(agentName !== undefined && { agent_name: agentName }),
    ...(enrolmentId !== undefined && { enrolment_id: enrolmentId }),
    ...(instance !== undefined && { instance }),
  };
}

async function proofOf(
  { enrolmentKey, token }: Enrol,
): Promise<EnrolmentRequest> {
  const ask = async (proof: Proof) => (typeof proof === "string" ? proof : await proof()).trim();
  try {
    return enrolmentKey === undefined
      ? { token: await ask(token!) }
      : { enrolment_key: await ask(enrolmentKey) };
  } catch (cause) {
    if (cause instanceof AgentError) throw cause;
    const message = "The function that was given in `enrol` did not return a proof.";
    throw new AgentError({ code: "key_unavailable", message, cause });
  }
}

import { readFile } from "node:fs/promises";
import process from "node:process";
import { AgentError } from "../../agent-files/errors/agent_error.ts";
import type { Enrol, Proof } from "../../agent-files/http/enrolment_proof.ts";
import type { StoredProof } from "../login_file.ts";

/** How long GitHub may take to answer. */
const ANSWER_MILLISECONDS = 15_000;

/** The proof with which a login enrols. Each enrolment reads it again. */
export function enrolOf(
  stored: StoredProof,
  fetch?: typeof globalThis.fetch,
): Enrol {
  const {
    enrolmentKeyFile,
    tokenFile,
    githubAudience,
    agentName,
    enrolmentId,
    instance,
  } = stored;
  const options = { agentName, enrolmentId, instance };
  if (enrolmentKeyFile !== undefined) {
    return { ...options, enrolmentKey: inFile(enrolmentKeyFile) };
  }
  if (tokenFile !== undefined) return { ...options, token: inFile(tokenFile) };
  return {
    ...options,
    token: () => githubToken(githubAudience!, fetch ?? globalThis.fetch),
  };
}

function inFile(file: string): Proof {
  return async () => {
    const proof = await readFile(file, "utf8").catch((cause) => {
      throw unavailable(
        `${file} cannot be read: ${cause.code ?? cause.message}.`,
        cause,
      );
    });
    if (proof.trim() === "") throw unavailable(`${file} is empty.`);
    return proof;
  };
}

/** Throws AgentError `key_unavailable`, without GitHub's answer, which can contain a token. */
async function githubToken(
  audience: string,
  fetch: typeof globalThis.fetch,
): Promise<string> {
  const {
    ACTIONS_ID_TOKEN_REQUEST_URL: url,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: credential,
  } = process.env;
  if (!url || !credential || !URL.canParse(url)) {
    throw unavailable(
      "GitHub Actions gives this job no token. Its workflow needs `permissions: id-token: write`.",
    );
  }
  const request = new URL(url);
  request.searchParams.set("audience", audience);
  try {
    const response = await fetch(request.href, {
      headers: {
        authorization: `Bearer ${credential}`,
        accept: "application/json",
      },
      redirect: "error",
      signal: AbortSignal.timeout(ANSWER_MILLISECONDS),
    });
    const { value } = response.ok ? await response.json() : { value: null };
    if (typeof value === "string") return value;
    throw unavailable(
      `GitHub Actions answered ${response.status}, without a token.`,
    );
  } catch (cause) {
    if (cause instanceof AgentError) throw cause;
    throw unavailable("GitHub Actions could not be asked for a token.", cause);
  }
}

function unavailable(message: string, cause?: unknown): AgentError {
  return new AgentError({ code: "key_unavailable", message, cause });
}

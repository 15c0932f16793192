import { isDeepStrictEqual } from "node:util";
import { DEPLOY, ENTER_SECRET_KEY, LOCALLY, unsetVariable } from "../findings/remedies.ts";
import { isRefusedLegacyKey } from "./legacy_key.ts";
import { type Facts, type FunctionFacts, refusesSecretKey } from "../facts/facts.ts";
import { fieldOf, type Reply, wordsOf } from "../facts/reply.ts";
import { fault, type Finding, note, ok } from "../findings/finding.ts";

const DEPLOY_AGAIN = `Deploy this checkout. ${LOCALLY}`;

/** Whether each function is deployed, open to agents, healthy, and from this checkout. */
export function checkFunctions(facts: Facts): Finding[] {
  const { version } = facts.checkout;
  return facts.functions.map((found) => {
    const fault = findDeploymentFault(found);
    if (fault !== null) return fault;
    if (refusesSecretKey(facts)) {
      return ok(found.name, "Healthy. It tells its release to the operator only.");
    }
    return findRefusal(found) ?? findOtherRelease(found, version) ?? findMaintenance(found) ??
      ok(found.name, `Healthy, and of this checkout (${version}).`);
  });
}

/** The fault that keeps the function from answering any request, or null. */
export function findDeploymentFault({ name, openHealth }: FunctionFacts): Finding | null {
  if (openHealth.status === 401) {
    return fault(
      name,
      `The gateway lets no agent key through (${
        wordsOf(openHealth)
      }): the function was deployed with verify_jwt.`,
      `Deploy it with the supabase/config.toml of this folder, which turns that off. ${LOCALLY}`,
      DEPLOY,
    );
  }
  if (openHealth.status === 404 || openHealth.status === 0) {
    return fault(
      name,
      `The function does not answer: ${wordsOf(openHealth)}.`,
      `Deploy it. ${LOCALLY}`,
      DEPLOY,
    );
  }
  if (openHealth.status !== 200) {
    const misconfigured = codeOf(openHealth.body) === "misconfigured";
    const variable = /\b[A-Z]+(?:_[A-Z]+)+\b/.exec(wordsOf(openHealth))?.[0];
    if (misconfigured && variable !== undefined) {
      return fault(
        name,
        `The function cannot serve: ${wordsOf(openHealth)}`,
        `Set it as docs/configuration.md says, or unset it: then its default applies.`,
        unsetVariable(variable),
      );
    }
    return fault(
      name,
      `The function cannot serve: ${wordsOf(openHealth)}`,
      misconfigured
        ? "Fix what the message names; docs/configuration.md lists every variable."
        : "Read the function's log, and check whether the project is running.",
    );
  }
  if (fieldOf(openHealth, "status") !== "ok") {
    return fault(
      name,
      `Something else answers in the function's place: ${wordsOf(openHealth)}.`,
      `Deploy it. ${LOCALLY}`,
      DEPLOY,
    );
  }
  return null;
}

/** A fault if a function refuses the secret key that the project accepts, or does not answer it. */
function findRefusal({ name, health, whoami }: FunctionFacts): Finding | null {
  const failed = [health, whoami].find(({ status }) => status === 0 || status >= 500);
  if (failed !== undefined) {
    return fault(
      name,
      `The function does not answer the operator: ${wordsOf(failed)}.`,
      "Run the doctor again. If it stays, read the function's log.",
    );
  }
  if (isRefusedLegacyKey(whoami)) {
    return fault(
      name,
      "SUPABASE_SECRET_KEY is the legacy service_role key, which the function refuses.",
      "Enter a secret key, sb_secret_…: Settings, API Keys.",
      ENTER_SECRET_KEY,
    );
  }
  if (fieldOf(health, "version") === undefined && whoami.status === 401) {
    return fault(
      name,
      "The function does not accept SUPABASE_SECRET_KEY as the operator's.",
      `A function gets a new secret key only when it is deployed. ${LOCALLY}`,
      DEPLOY,
    );
  }
  return null;
}

/** A fault if a function behaves differently from this checkout's. */
function findOtherRelease(
  { name, health, document, expectedDocument }: FunctionFacts,
  version: string,
): Finding | null {
  const deployed = fieldOf(health, "version");
  if (deployed === undefined) {
    return fault(
      name,
      "The function is older than this checkout: it tells no version.",
      DEPLOY_AGAIN,
      DEPLOY,
    );
  }
  if (deployed !== version) {
    return fault(
      name,
      `The function is of release ${deployed}, this checkout of ${version}.`,
      DEPLOY_AGAIN,
      DEPLOY,
    );
  }
  // During maintenance, only the operator is served, and nobody signs in for this document.
  if (isInMaintenance(document)) return null;
  if (document.status !== 200) {
    return fault(
      name,
      `Its OpenAPI document could not be read: ${wordsOf(document)}.`,
      "Run the doctor again. If it stays, read the function's log.",
    );
  }
  if (!isDeepStrictEqual(document.body, expectedDocument)) {
    return fault(
      name,
      `The function is of another checkout: its OpenAPI document differs from this one's.`,
      DEPLOY_AGAIN,
      DEPLOY,
    );
  }
  return null;
}

function findMaintenance({ name, document }: FunctionFacts): Finding | null {
  if (!isInMaintenance(document)) return null;
  return note(
    name,
    "The function serves nobody but the operator: MAINTENANCE is set.",
    `When your work is done, unset it and deploy. ${LOCALLY}`,
    unsetVariable("MAINTENANCE"),
  );
}

function isInMaintenance({ status, body }: Reply): boolean {
  return status === 503 && codeOf(body) === "maintenance";
}

function codeOf(body: unknown): unknown {
  return (body as { readonly error?: { readonly code?: unknown } } | null)?.error?.code;
}

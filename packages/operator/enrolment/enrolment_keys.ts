import { note } from "../../command/terminal/output.ts";
import { defineOperation, type Operation } from "../command.ts";
import { confirm, DELETION_OPTIONS } from "../endings/confirmation.ts";
import { callFunctionAsOperator } from "../function_call.ts";
import { findEnrolment, readObject } from "./all_enrolments.ts";
import type { Enrolment, PublicKey } from "./enrolment.ts";

/** Equal for two public keys that verify the same tokens (RFC 7517, RFC 7518 and RFC 8037). */
function identityOf({ kid, kty, crv, x, y, n, e }: PublicKey): string {
  return JSON.stringify([kid, kty, crv, x, y, n, e]);
}

/** How many public keys an enrolment has, and how many of them are not among the new ones. */
async function countLosses(
  enrolment_id: string,
  { keys }: { readonly keys?: unknown },
): Promise<{ readonly lost: number; readonly of: number }> {
  const present = (await findEnrolment(enrolment_id))?.jwks?.keys ?? [];
  // If `keys` is no list of public keys, the service refuses it later.
  const kept = new Set(Array.isArray(keys) ? keys.map((key) => identityOf(Object(key))) : []);
  const lost = present.filter((key) => !kept.has(identityOf(key)));
  return { lost: lost.length, of: present.length };
}

export const enrolmentKeys: Operation = defineOperation({
  summary: "Replace the public keys of an issuer whose keys the operator gave.",
  positionals: {
    usage: "<enrolment_id> <FILE>",
    least: 2,
    most: 2,
    wrong: "Name one enrolment, and the file with the public keys.",
    completes: "file",
  },
  example: "agentops enrolment keys enr_0123456789abcdef0123456789abcdef jwks.json",
  options: DELETION_OPTIONS,
  async run({ positionals, values }, output) {
    const [enrolment_id, file] = positionals as [string, string];
    const jwks = await readObject(file);
    const { lost, of } = await countLosses(enrolment_id, jwks);
    const what = `${lost} of ${of} public keys of ${enrolment_id}`;
    if (values["dry-run"]) {
      return await output.value(
        { enrolment_id, would_end: { public_keys: lost }, of },
        () => `Would end: ${what}. Nothing was changed.`,
      );
    }
    if (lost > 0) await confirm(`This ends ${what}.`, values);
    const changed = await callFunctionAsOperator("/agent-artifacts/enrolment/put", {
      kind: "trust",
      enrolment_id,
      jwks,
    }) as Enrolment;
    await output.value(changed, () => changed.enrolment_id);
    note(
      "Its agents stay. From now on, tokens that none of these public keys verifies are refused.",
    );
  },
});

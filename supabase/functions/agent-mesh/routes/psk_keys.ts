import * as z from "zod";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import { requireEncryptionKeys } from "../../_shared/identity/encryption/require_keys.ts";
import type { MeshSettings } from "../settings.ts";

const response = z.object({
  /** Newest first. An id reveals nothing of its encryption key. */
  key_ids: z.array(z.string()),
});

export function createOperation({ callDatabase, settings }: Platform<MeshSettings>): Operation {
  return defineOperation({
    summary: "List the ids of the encryption keys that the function can decrypt PSKs with.",
    tag: "PSKs",
    callers: "the operator",
    effect: "reads",
    identification: "required",
    // Only `agentops psk reencrypt` calls it.
    isUnlisted: true,
    request: z.strictObject({}),
    response,
    errors: [],
    async handle({ caller }) {
      await callDatabase("check_operator", { caller });
      return { key_ids: requireEncryptionKeys(settings.pskEncryptionKeys).map(({ id }) => id) };
    },
  });
}

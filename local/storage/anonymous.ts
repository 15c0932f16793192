import type { Context } from "hono";
import { storageErrors } from "./storage_error.ts";

/**
 * Answers what a key without rights may ask: row level security has no policies, so there is
 * nothing to see for it, and nothing may be added. Throws StorageError.
 */
export function answerWithoutRights({ req, json }: Context): Response {
  if (req.method === "DELETE" || req.path.startsWith("/object/list/")) return json([]);
  if (req.path.startsWith("/bucket/")) throw storageErrors.noSuchBucket();
  if (req.path.startsWith("/object/upload/sign/")) {
    throw storageErrors.accessDenied("new row violates row-level security policy");
  }
  throw storageErrors.noSuchKey();
}

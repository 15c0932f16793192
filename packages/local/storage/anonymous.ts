import type { Context } from "hono";
import { storageErrors } from "./storage_error.ts";

/**
 * Answers a key without rights. There are no policies for row level security, so such a key sees
 * nothing and may add nothing. Throws StorageError.
 */
export function answerWithoutRights({ req, json }: Context): Response {
  if (req.method === "DELETE" || req.path.startsWith("/object/list/")) return json([]);
  if (req.path.startsWith("/bucket/")) throw storageErrors.noSuchBucket();
  if (req.path.startsWith("/object/upload/sign/")) {
    throw storageErrors.accessDenied("new row violates row-level security policy");
  }
  throw storageErrors.noSuchKey();
}

import assert from "node:assert/strict";
import {
  BUCKET,
  incomingPath,
} from "../../supabase/functions/agent-artifacts/storage/object_paths.ts";
import { withStackDatabase } from "./connection.ts";

Deno.test("the bucket and the path of an upload → the same in the function and in the database", async () => {
  const artifactId = `art_${"0".repeat(32)}`;
  const [said] = await withStackDatabase((sql) =>
    sql`select artifacts.bucket() as bucket, artifacts.incoming_path(${artifactId}) as incoming`
  );
  assert.deepEqual({ ...said }, { bucket: BUCKET, incoming: incomingPath(artifactId) });
});

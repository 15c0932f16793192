import type { Output } from "../../command/terminal/output.ts";
import { rowsOf } from "../pages.ts";

/**
 * Prints a line for every committed artifact whose bytes are gone, and for every object that
 * belongs to no artifact. Resolves to the number of lines.
 */
export async function checkObjects(output: Output): Promise<number> {
  let lines = 0;
  const artifacts = rowsOf<{ artifact_id: string; path: string }>("list_artifacts_without_bytes");
  for await (const { artifact_id, path } of artifacts) {
    await output.value(
      { fault: "artifact_without_bytes", artifact_id, path },
      () => `artifact without bytes: ${artifact_id} ${path}`,
    );
    lines++;
  }
  for await (const { path } of rowsOf<{ path: string }>("list_objects_without_artifact")) {
    await output.value(
      { fault: "bytes_without_artifact", path },
      () => `bytes without artifact: ${path}`,
    );
    lines++;
  }
  return lines;
}

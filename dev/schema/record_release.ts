import { VERSION } from "../../supabase/functions/_shared/request/version.ts";
import { PROJECT } from "../../packages/local/project.ts";
import { runTask } from "../../packages/command/run_task.ts";
import { recordRelease } from "./releases.ts";

await runTask({
  task: "schema:release",
  summary: "Record the migrations of this version as released.",
  example: "deno task schema:release",
  run: async () => {
    const added = await recordRelease(PROJECT, VERSION);
    console.log(
      `Recorded ${VERSION} in supabase/releases.json: ${added.join(", ") || "no migration"}.`,
    );
  },
});

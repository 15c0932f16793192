import { VERSION } from "../../supabase/functions/_shared/version.ts";
import { PROJECT } from "../../local/command/project.ts";
import { runCommand } from "../../local/command/run_command.ts";
import { recordRelease } from "./releases.ts";

await runCommand(async () => {
  const added = await recordRelease(PROJECT, VERSION);
  console.log(
    `Recorded ${VERSION} in supabase/releases.json: ${added.join(", ") || "no migration"}.`,
  );
});

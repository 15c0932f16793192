/**
 * Runs the README's hand-over on a new local stack, and draws its output:
 *
 *   deno run --allow-all dev/pictures/draw_hand_over.ts
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../packages/local/project.ts";
import { runProgram } from "../../packages/local/processes/run_program.ts";
import { stateDirectory } from "../../packages/local/stack/options.ts";
import { drawHandOver, pictureFile, THEMES, transcribed } from "./hand_over.ts";

/** Runs tasks with this Deno. If INIT_CWD is set, a task uses it as the folder of the files. */
const NPX =
  `unset INIT_CWD; npx() { '${Deno.execPath()}' task --quiet --cwd '${PROJECT}' "\${@:4}"; }\n`;

const readme = await readFile(join(PROJECT, "README.md"), "utf8");
const [, block] = /^## Hand over a file\n.*?^```sh\n(.*?)^```$/ms.exec(readme)!;
const folder = await Deno.makeTempDir();
try {
  const { code, output, errors } = await runProgram("bash", {
    args: ["-e", "-o", "pipefail", "-c", NPX + transcribed(block!)],
    cwd: folder,
    env: { STATE_DIR: stateDirectory() },
  });
  if (code !== 0) throw new Error(errors);
  for (const theme of THEMES) {
    await writeFile(join(PROJECT, pictureFile(theme)), drawHandOver(output, theme));
  }
} finally {
  await Deno.remove(folder, { recursive: true });
}

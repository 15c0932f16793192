/**
 * `deno task bench --only=python`: the Python client beside curl, `import httpx` and threads. Only
 * prints and saves the figures.
 */
import { join } from "node:path";
import { interpreter, PYTHON_ENVIRONMENT } from "../../../clients/python/tests/interpreter.ts";
import { runProgram } from "../../../packages/local/processes/run_program.ts";
import type { Figures } from "../report/figures.ts";
import { startBenchStack } from "../stack/bench_stack.ts";

const MEBIBYTE = 1024 ** 2;

export async function benchPython(
  { quick, figures, say }: {
    readonly quick: boolean;
    readonly figures: Figures;
    readonly say: (line: string) => void;
  },
): Promise<void> {
  const effort = quick ? { mebibytes: 100, turns: 1 } : { mebibytes: 1024, turns: 3 };
  const most = String(2 * effort.mebibytes * MEBIBYTE);
  await using stack = await startBenchStack({
    ARTIFACTS_MAX_SIZE_BYTES: most,
    STORAGE_FILE_SIZE_LIMIT: most,
  });
  const folder = await Deno.makeTempDir();
  try {
    const { code, output, errors } = await runProgram(await interpreter(), {
      args: [join(import.meta.dirname!, "measure.py"), JSON.stringify(effort)],
      cwd: folder,
      // With compiled modules, as users have them.
      env: {
        ...PYTHON_ENVIRONMENT,
        PYTHONDONTWRITEBYTECODE: "",
        PYTHONPYCACHEPREFIX: join(folder, "compiled"),
        URL: stack.url,
        SECRET: stack.secretKey,
      },
    });
    if (code !== 0) throw new Error(`measure.py has failed: ${errors.trim().split("\n").at(-1)}`);
    for (const [what, [figure, goal]] of Object.entries<[number, number]>(JSON.parse(output))) {
      figures.save("python", { what, figure, goal });
      const verdict = figure <= goal ? "met        " : "falls short";
      say(`${verdict}  ${what}: ${figure.toFixed(2)} (goal ≤ ${goal})`);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

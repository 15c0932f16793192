/**
 * Runs a program to its end and returns its output. Throws with its errors unless it exits with 0.
 */
export async function run(
  command: readonly string[],
  { input = "" }: { input?: string } = {},
): Promise<string> {
  const result = await runAnyhow(command, { input });
  if (!result.success) throw new Error(`${command.join(" ")}: ${result.errors || result.output}`);
  return result.output;
}

/** Runs a program as `run` does, but does not throw if it fails. */
export async function runAnyhow(
  [program = "", ...args]: readonly string[],
  { input = "" }: { input?: string } = {},
): Promise<{ success: boolean; code: number; output: string; errors: string }> {
  const child = new Deno.Command(program, {
    args,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  })
    .spawn();
  const written = new Blob([input]).stream().pipeTo(child.stdin).catch(() => {
    // The program has ended without reading all its input.
  });
  const [{ success, code, stdout, stderr }] = await Promise.all([child.output(), written]);
  const [output, errors] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  return { success, code, output: output ?? "", errors: errors ?? "" };
}

/**
 * Waits until `condition` holds. Throws if it does not hold within `withinSeconds`. The default is
 * far longer than anything here takes, even on a busy machine.
 */
export async function eventually(
  what: string,
  { withinSeconds = 180, condition }: { withinSeconds?: number; condition: () => Promise<boolean> },
): Promise<void> {
  const deadline = Date.now() + withinSeconds * 1000;
  while (!await condition()) {
    if (Date.now() > deadline) throw new Error(`Not within ${withinSeconds} s: ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 400));
  }
}

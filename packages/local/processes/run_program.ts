export interface ProgramOptions extends Pick<Deno.CommandOptions, "args" | "cwd" | "env"> {
  /** The text on its standard input. Default: nothing. */
  readonly input?: string;
}

/** How a program ended, and what it wrote. */
export interface Ended {
  readonly code: number;
  readonly output: string;
  readonly errors: string;
}

/** Runs a program to its end. */
export async function runProgram(
  program: string,
  { input = "", ...options }: ProgramOptions,
): Promise<Ended> {
  const child = new Deno.Command(program, {
    ...options,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const [{ code, stdout, stderr }] = await Promise.all([
    child.output(),
    new Blob([input]).stream().pipeTo(child.stdin),
  ]);
  const decoder = new TextDecoder();
  return { code, output: decoder.decode(stdout), errors: decoder.decode(stderr) };
}

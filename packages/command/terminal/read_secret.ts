import process from "node:process";

/** Reads one line from standard input. A terminal does not show what is typed. */
export async function readSecret(prompt: string): Promise<string> {
  const { stdin } = process;
  if (!stdin.isTTY) return await firstLine(stdin);
  process.stderr.write(prompt);
  stdin.setRawMode(true);
  try {
    return await typedLine(stdin);
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
    process.stderr.write("\n");
  }
}

async function firstLine(input: NodeJS.ReadableStream): Promise<string> {
  let text = "";
  for await (const chunk of input) {
    text += chunk.toString();
    if (text.includes("\n")) break;
  }
  return text.split("\n", 1)[0]!.trim();
}

const ENTER = ["\r", "\n"];
const CONTROL_C = "\x03";
const BACKSPACE = ["\x7f", "\b"];

async function typedLine(input: NodeJS.ReadableStream): Promise<string> {
  let line = "";
  for await (const chunk of input) {
    for (const character of chunk.toString()) {
      if (ENTER.includes(character)) return line.trim();
      if (character === CONTROL_C) throw new Error("Interrupted.");
      line = BACKSPACE.includes(character) ? line.slice(0, -1) : line + character;
    }
  }
  return line.trim();
}

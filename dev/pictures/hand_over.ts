/**
 * The picture of the README's hand-over: what its two agents typed, and what was printed. The file
 * has the format that `deno fmt` gives it.
 */

export const THEMES = ["light", "dark"] as const;
export type Theme = typeof THEMES[number];

const COLOURS = {
  light: { ground: "#f6f8fa", line: "#d1d9e0", text: "#1f2328", faint: "#59636e", mark: "#0969da" },
  dark: { ground: "#151b23", line: "#3d444d", text: "#f0f6fc", faint: "#9198a1", mark: "#4493f8" },
} as const;

const PROMPT = "$ ";
const [WIDTH, PANEL_WIDTH, LINE_HEIGHT, GAP] = [760, 600, 22, 84];
const [SANS, MONO] = ["system-ui, sans-serif", "ui-monospace, Menlo, Consolas, monospace"];

/** What one agent typed and saw. */
interface Panel {
  readonly agent: string;
  readonly lines: string[];
}

/** The path of a picture, relative to the project's folder. */
export function pictureFile(theme: Theme): string {
  return `docs/pictures/hand-over-${theme}.svg`;
}

/** The block with an echo of each command before it, so that its output is a transcript. */
export function transcribed(block: string): string {
  return block.trim().split("\n").flatMap((command) => [
    `echo '${PROMPT}${command.replaceAll("'", `'\\''`)}'`,
    command,
  ]).join("\n") + "\n";
}

/** Draws the transcript of the hand-over. Artifact ids differ from run to run. */
export function drawHandOver(transcript: string, theme: Theme): string {
  const [sender, receiver, ...others] = panelsOf(transcript);
  if (sender === undefined || receiver === undefined || others.length > 0) {
    throw new Error(`Two agents hand over a file:\n${transcript}`);
  }
  const [senderHeight, receiverHeight] = [heightOf(sender), heightOf(receiver)];
  const height = senderHeight + GAP + receiverHeight + 2;
  const { text, faint, mark } = COLOURS[theme];
  const [x, top] = [WIDTH / 2, senderHeight];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img">`,
    ...drawPanel(sender, { x: 1, y: 1 }, theme),
    `  <path d="M${x} ${top + 8}V${height - receiverHeight - 10}m-6 -8l6 8l6 -8" ` +
    `fill="none" stroke="${mark}" stroke-width="2" />`,
    `  <g font-family="${SANS}" font-size="14" transform="translate(${x + 18} ${top + 40})">`,
    `    <text fill="${text}">agent-artifacts</text>`,
    `    <text y="18" fill="${faint}">verifies the SHA-256, grants access</text>`,
    `  </g>`,
    ...drawPanel(receiver, { x: WIDTH - PANEL_WIDTH - 1, y: senderHeight + GAP }, theme),
    `</svg>`,
    ``,
  ].join("\n");
}

/**
 * Skips everything before the first command with an agent's key. Each such command begins a panel.
 */
function panelsOf(transcript: string): Panel[] {
  const panels: Panel[] = [];
  for (const line of transcript.trimEnd().split("\n")) {
    const [, agent, command] = /^\$ AGENT_KEY=\$(\w+) npx .* task (agentfiles .+)$/.exec(line) ??
      [];
    if (agent !== undefined) panels.push({ agent: agent.toLowerCase(), lines: [] });
    panels.at(-1)?.lines.push(command === undefined ? line : PROMPT + command);
  }
  return panels;
}

function heightOf({ lines }: Panel): number {
  return 44 + lines.length * LINE_HEIGHT;
}

function drawPanel(panel: Panel, { x, y }: { x: number; y: number }, theme: Theme): string[] {
  const { ground, line, text, faint } = COLOURS[theme];
  return [
    `  <g transform="translate(${x} ${y})" font-family="${SANS}" font-size="14">`,
    `    <rect width="${PANEL_WIDTH}" height="${heightOf(panel)}" rx="8" fill="${ground}" ` +
    `stroke="${line}" />`,
    `    <text x="16" y="24" fill="${faint}">${escape(panel.agent)}</text>`,
    `  </g>`,
    `  <g transform="translate(${x + 16} ${y + 48})" fill="${faint}"`,
    `    font-family="${MONO}" font-size="13">`,
    ...panel.lines.map((shown, index) => {
      const colour = shown.startsWith(PROMPT) ? ` fill="${text}"` : "";
      return `    <text y="${index * LINE_HEIGHT}"${colour}>${escape(shown)}</text>`;
    }),
    `  </g>`,
  ];
}

/** Keeps consecutive spaces. */
function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll("  ", "\u00a0 ");
}

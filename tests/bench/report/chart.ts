/** Bar charts as SVG, readable in light and in dark mode. */

export interface Bar {
  readonly label: string;
  readonly value: number;
}

export interface Chart {
  readonly title: string;
  readonly bars: readonly Bar[];
  /** The goal, drawn as a line. */
  readonly goal: number;
}

const WIDTH = 720;
const LABEL_WIDTH = 250;
const ROW_HEIGHT = 22;
const TOP = 40;
/** Longer bars are cut off. The number beside the bar shows the real value. */
const LONGEST = 2.5;

const STYLE = `
  text { font: 12px system-ui, sans-serif; fill: #1f2328; }
  .title { font-size: 14px; font-weight: 600; }
  .bar { fill: #4777b8; }
  .goal { stroke: #b35900; stroke-dasharray: 4 3; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .bar { fill: #79a8e8; }
    .goal { stroke: #f0a050; }
  }`;

export function renderChart({ title, bars, goal }: Chart): string {
  const widest = Math.min(LONGEST, Math.max(goal, ...bars.map(({ value }) => value)));
  const scale = (WIDTH - LABEL_WIDTH - 60) / widest;
  const height = TOP + bars.length * ROW_HEIGHT + 10;
  const goalX = LABEL_WIDTH + goal * scale;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${
      escape(title)
    }">`,
    `<style>${STYLE}\n</style>`,
    `<text class="title" x="10" y="20">${escape(title)}</text>`,
    ...bars.map((bar, index) => renderBar(bar, { y: TOP + index * ROW_HEIGHT, scale, widest })),
    `<line class="goal" x1="${goalX.toFixed(1)}" x2="${goalX.toFixed(1)}" y1="${TOP - 8}" y2="${
      height - 8
    }"/>`,
    `</svg>`,
    ``,
  ].join("\n");
}

function renderBar(
  { label, value }: Bar,
  { y, scale, widest }: { y: number; scale: number; widest: number },
): string {
  const width = Math.min(value, widest) * scale;
  return `<text x="${LABEL_WIDTH - 8}" y="${y + 13}" text-anchor="end">${escape(label)}</text>` +
    `<rect class="bar" x="${LABEL_WIDTH}" y="${y + 2}" width="${width.toFixed(1)}" height="14"/>` +
    `<text x="${(LABEL_WIDTH + width + 6).toFixed(1)}" y="${y + 13}">${value.toFixed(2)}</text>`;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

import type { Break } from "../break.ts";

const broken: Break = {
  words: "A PSK is rotated: only one side of the pair is told that its configuration is another.",
  seeds: 40,
  absent: ["bucket"],
  acting: ["hosts"],
  changes: [{
    file: "sql",
    from: `    perform mesh.raise_config_versions(array[pair.low_agent, pair.high_agent]);`,
    to: `    perform mesh.raise_config_versions(array[pair.low_agent]);`,
  }],
};

export default broken;

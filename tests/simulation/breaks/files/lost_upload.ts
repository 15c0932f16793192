import type { Break } from "../break.ts";

const broken: Break = {
  number: 4,
  words: "An upload's row without its bytes: /commit fails for ever, and the next PUT is refused.",
  absent: ["tasks", "standing", "keyed", "webhooks", "bucket"],
  changes: [{
    file: "agent-artifacts/routes/commit.ts",
    from: "          await store.remove([incoming_path]);\n",
    to: "",
  }],
};

export default broken;

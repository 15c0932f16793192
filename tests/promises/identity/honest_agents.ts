import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/configuration.md",
  sentence: "**Rate limits** keep one caller from slowing down the others.",
  tests: [
    {
      file: "tests/own_function/limits/rate_limits_test.ts",
      name: "/list, /whoami and /mcp more often than a minute's limit → 429",
    },
    {
      file: "tests/own_function/limits/enrolment_rates_test.ts",
      name: "many agents of one enrolment that together send more",
    },
  ],
} satisfies KeptPromise;

import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/mesh.md",
  sentence: "WireGuard uses a PSK only in handshakes, so sessions continue meanwhile.",
  tests: [
    {
      file: "tests/rotation/fetched_rotation_test.ts",
      name: "/psk/rotate of two pairs that ping",
    },
    {
      file: "tests/rotation/sandbox_rotation_test.ts",
      name: "/psk/rotate of a sandbox and a kernel",
    },
  ],
} satisfies KeptPromise;

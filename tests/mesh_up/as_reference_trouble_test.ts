/** `agentfiles mesh up` passes the tests of the reference agent. */
Object.assign(globalThis, { meshAgent: "command" });
await import("../mesh_agent/trouble_test.ts");
await import("../mesh_agent/paths_test.ts");
await import("../mesh_agent/moving_test.ts");

export {};

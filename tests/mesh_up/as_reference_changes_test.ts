/** `agentfiles mesh up` passes the tests of the reference agent. */
Object.assign(globalThis, { meshAgent: "command" });
await import("../mesh_agent/changes_test.ts");
await import("../mesh_agent/names_test.ts");

export {};

/** `agentfiles mesh up` passes the tests of the reference agent. */
Object.assign(globalThis, { meshAgent: "command" });
await import("../mesh_agent/life_test.ts");
await import("../mesh_agent/lock_test.ts");
await import("../mesh_agent/revoked_flow_test.ts");

export {};

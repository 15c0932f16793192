/** `agentfiles mesh up` passes the tests of the reference agent. */
Object.assign(globalThis, { meshAgent: "command" });
await import("../mesh_agent/waiting_test.ts");
await import("../mesh_agent/rotation_test.ts");

export {};

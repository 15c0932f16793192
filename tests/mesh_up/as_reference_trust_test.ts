/** `agentfiles mesh up` passes the tests of the reference agent. */
Object.assign(globalThis, { meshAgent: "command" });
await import("../mesh_agent/trust/untrusted_service_test.ts");
await import("../mesh_agent/trust/privileges_test.ts");
await import("../mesh_agent/trust/private_key_test.ts");
await import("../mesh_agent/trust/endless_answer_test.ts");

export {};

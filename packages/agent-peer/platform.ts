/** What the peer shares with `agent-files` that has nothing to do with the service. */
export { pause } from "../agent-files/http/retries.ts";
export { nodeModule } from "../agent-files/platform/node_module.ts";
export { credentialOf } from "../agent-files/proxy/credential.ts";
export { isExcepted } from "../agent-files/proxy/no_proxy.ts";
export { noProxyVariable, proxyVariable } from "../agent-files/proxy/proxy_variables.ts";

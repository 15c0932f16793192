/** One more agent-mesh function beside the stack's own, with sealing keys of its own. */
import { type RunningFunction, startFunction } from "../../dev/functions.ts";
import { type Agent, type Answer, SECRET_KEY, SUPABASE_URL } from "../conformance/service.ts";

export class MeshFunction implements AsyncDisposable {
  private constructor(
    readonly process: RunningFunction,
    private readonly logFile: string,
  ) {}

  static async start(environment: Record<string, string> = {}): Promise<MeshFunction> {
    const logFile = await Deno.makeTempFile({ suffix: ".log" });
    const process = await startFunction({
      name: "agent-mesh",
      environment: {
        SUPABASE_URL,
        SUPABASE_SECRET_KEYS: JSON.stringify({ default: SECRET_KEY }),
        ...environment,
      },
      logFile,
    });
    return new MeshFunction(process, logFile);
  }

  async wgConfig(agent: Agent): Promise<Answer> {
    const response = await fetch(`${this.process.url}/agent-mesh/wg_config`, {
      method: "POST",
      headers: { authorization: `Bearer ${agent.key}` },
    });
    return { status: response.status, headers: response.headers, body: await response.json() };
  }

  log(): Promise<string> {
    return Deno.readTextFile(this.logFile);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process.stop();
    await Deno.remove(this.logFile);
  }
}

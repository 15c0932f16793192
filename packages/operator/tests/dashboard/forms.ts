/** Sends the dashboard's forms without a browser, as an attacker might. */
import { startDashboard } from "../../dashboard/server.ts";
import { SUPABASE_URL } from "../../../../tests/conformance/client.ts";

export type Target = Readonly<Record<string, string>>;

export interface Sent {
  readonly status: number;
  readonly location: string | null;
  readonly text: string;
}

export class Forms {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  get origin(): string {
    return new URL(this.#url).origin;
  }

  /** Opens a page, such as `agents/planner`. */
  async open(path: string): Promise<Sent> {
    return await answer(await fetch(this.#url + path, { redirect: "manual" }));
  }

  /** The token in the form of an action. */
  async tokenOf(action: string, target: Target): Promise<string> {
    const { text, status } = await this.open(`act/${action}?${new URLSearchParams(target)}`);
    const [, token] = /name="token" value="([^"]+)"/.exec(text) ?? [];
    if (token === undefined) throw new Error(`${action} has no form: ${status} ${text}`);
    return token;
  }

  /** POSTs a form, by default with the dashboard's own origin. */
  async send(
    action: string,
    values: Target,
    headers: Readonly<Record<string, string>> = { origin: this.origin },
  ): Promise<Sent> {
    return await answer(
      await fetch(`${this.#url}act/${action}`, {
        method: "POST",
        body: new URLSearchParams(values),
        headers,
        redirect: "manual",
      }),
    );
  }

  /** Performs an action, and returns the page that it leads to. */
  async act(action: string, target: Target, inputs: Target = {}): Promise<string> {
    const token = await this.tokenOf(action, target);
    const { status, location, text } = await this.send(action, { ...target, ...inputs, token });
    if (status !== 303) throw new Error(`${action}: ${status} ${text}`);
    return (await this.open(location!.replace("../", ""))).text;
  }
}

export async function withForms(run: (forms: Forms) => Promise<void>): Promise<void> {
  const dashboard = await startDashboard({ project: SUPABASE_URL, port: 0 });
  try {
    await run(new Forms(dashboard.url));
  } finally {
    await dashboard.stop();
  }
}

async function answer(response: Response): Promise<Sent> {
  return {
    status: response.status,
    location: response.headers.get("location"),
    text: await response.text(),
  };
}

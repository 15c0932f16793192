import * as z from "zod";
import { exampleOf, type JsonSchema } from "./example.ts";

/** What a document defines once and refers to from its operations. */
export class Components {
  /** `#/components/schemas`: the schemas that have a name (`id`). */
  readonly schemas: Record<string, JsonSchema> = {};
  /** `#/components/responses`. */
  readonly responses: Record<string, object> = {};

  /** A body of this schema: JSON Schema, and an example. */
  body(schema: z.ZodType, io: "input" | "output"): object {
    const written = this.schema(schema, io);
    return { schema: written, example: exampleOf(written, this.schemas) };
  }

  /** The schema as JSON Schema. Named schemas within it become references. */
  schema(schema: z.ZodType, io: "input" | "output"): JsonSchema {
    // zod writes a named schema as a reference only within another schema.
    const whole = z.object({ part: schema });
    const text = JSON.stringify(z.toJSONSchema(whole, { io, unrepresentable: "any" }));
    const { $defs, properties } = JSON.parse(
      text.replaceAll('"#/$defs/', '"#/components/schemas/'),
    );
    Object.assign(this.schemas, $defs);
    return properties.part;
  }
}

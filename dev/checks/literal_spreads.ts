/** A rule for `deno lint`: a literal that is spread where it could stand itself. */
const plugin: Deno.lint.Plugin = {
  name: "project",
  rules: {
    "no-literal-spread": {
      create: (context) => ({
        SpreadElement({ argument, range }) {
          if (argument.type !== "ArrayExpression" && argument.type !== "ObjectExpression") return;
          context.report({
            range,
            message: "The spread of a literal only keeps lines together.",
            hint: "Write its elements themselves, and let the formatter break the lines.",
          });
        },
      }),
    },
  },
};

export default plugin;

/** The pages with forms: a form is sent once, and a secret does not stay behind. */
for (const form of document.querySelectorAll("form[method=post]")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
  });
}
// The browser may restore this page from memory when the person goes back.
addEventListener("pagehide", () => {
  for (const field of document.querySelectorAll("[data-secret]")) field.remove();
  for (const form of document.querySelectorAll("form")) delete form.dataset.sent;
});
const shown = document.querySelector("[data-secret]");
shown?.focus();
shown?.select();

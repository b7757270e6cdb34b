/* A button on each block of code that copies what a reader pastes: the code, without prompts and without what it prints.
 * A Python prompt ends a loop or a function at an empty line, so each statement of several lines gets one. */

function codeOf(block) {
  const lines = block.textContent.replace(/\n$/, "").split("\n");
  if (!lines[0].startsWith(">>> ")) return lines.join("\n") + "\n";
  const code = [];
  lines.forEach((line, at) => {
    const inside = /^\.\.\.( |$)/.test(line);
    if (line.startsWith(">>> ") || inside) code.push(line.slice(4));
    if (inside && !/^\.\.\.( |$)/.test(lines[at + 1] ?? "")) code.push("");
  });
  return code.join("\n") + "\n";
}

function addButton(block) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(codeOf(block));
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  block.parentElement.append(button);
}

document.addEventListener("DOMContentLoaded", () => {
  if (navigator.clipboard) document.querySelectorAll("div.highlight-python pre, div.highlight-none pre").forEach(addButton);
});

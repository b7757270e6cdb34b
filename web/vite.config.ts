import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";

// What the page is made of. tests/studio/test_built.py reads the same files, and compares without node.
function sources(): string[] {
  const own = readdirSync("src").map((name) => `src/${name}`);
  return ["index.html", "package-lock.json", "package.json", "tsconfig.json", "vite.config.ts", ...own].sort();
}

// Writes into the page which sources it was built from.
function stamp(): Plugin {
  const hash = createHash("sha256");
  for (const path of sources()) hash.update(`${path}\n`).update(readFileSync(path)).update("\n");
  const content = hash.digest("hex");
  return {
    name: "stamp",
    transformIndexHtml: () => [{ tag: "meta", attrs: { name: "sources", content }, injectTo: "head" }],
  };
}

// The built page is committed and shipped in the wheel: names without hashes keep its history short.
export default defineConfig({
  base: "/",
  plugins: [stamp()],
  build: {
    outDir: "../src/cepheid/studio/page",
    emptyOutDir: true,
    modulePreload: { polyfill: false },
    rollupOptions: {
      output: {
        entryFileNames: "assets/studio.js",
        assetFileNames: "assets/studio[extname]",
      },
    },
  },
});

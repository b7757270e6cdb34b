import { defineConfig } from "vite";

// The built page is committed and shipped in the wheel: names without hashes keep its history short.
export default defineConfig({
  base: "/",
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

import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  plugins: [react(), tailwindcss()],
  build: {
    target: 'es2022',
    // The content security policy allows no inline scripts and no data addresses of scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The first page may have 250 KiB compressed, which is about three times that here.
    chunkSizeWarningLimit: 750,
  },
})

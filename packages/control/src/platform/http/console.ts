import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type PreviewAddress, visiblePort } from '@offshoot/contract/preview-address'
import type { ControlConfig } from '@offshoot/contract/process-config'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { PAGE_HEADERS, serveAssets } from './static-assets.ts'
import { acceptsHtml } from './accepts-html.ts'

/** First segments of paths that belong to the API. A browser that opens one sees the API's answer. */
const API_SEGMENTS: ReadonlySet<string> = new Set([
  'v1',
  'api',
  'mcp',
  'internal',
  'docs',
  'assets',
  'openapi.json',
  'metrics',
  'healthz',
  'version',
])
const PAGE = 'index.html'
const COMPRESSED = /\.(br|gz)$/

/** Answers with the console's page if a browser opens a path that no route has. */
export type ConsolePage = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** Whether a browser opens a page of the console. The console's own router knows which pages exist. */
export function isConsoleNavigation(request: FastifyRequest): boolean {
  const { method, url } = request
  if (method !== 'GET' && method !== 'HEAD') return false
  const [, segment = ''] = /^\/([^/?]*)/.exec(url) ?? []
  return !API_SEGMENTS.has(segment) && acceptsHtml(request)
}

/**
 * Serves the built console: the names of files in `assets/` contain a hash of their content, so browsers keep them for
 * good. The page names these files, so browsers ask for it anew each time.
 * @param folder what `packages/console/build.mjs` wrote
 */
export async function registerConsole(app: FastifyInstance, folder: string, config: ControlConfig): Promise<void> {
  const headers = consoleHeaders(config.preview)
  await serveAssets(app, folder, '/assets/', headers)
  const names = (await readdir(folder, { withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
  // The icon, for example. Few files, whose names stay when their contents change.
  for (const name of names.filter((each) => each !== PAGE && !COMPRESSED.test(each))) {
    app.get(`/${name}`, { config: { isPage: true } }, (_request, reply) =>
      reply.sendFile(name, folder, { immutable: false, maxAge: 0 }),
    )
  }
}

/** The page of the console in this folder. */
export function consolePage(folder: string, { preview }: ControlConfig): ConsolePage {
  const headers = consoleHeaders(preview)
  return async (request, reply) => {
    const content = await readFile(join(folder, PAGE))
    // Of the content: the files of a release all have the same time, and the page's length rarely changes.
    const etag = `"${createHash('sha256').update(content).digest('base64url')}"`
    reply.headers({ ...headers, 'cache-control': 'no-cache', etag })
    if (request.headers['if-none-match'] === etag) return reply.code(304).send()
    return reply.type('text/html; charset=utf-8').send(content)
  }
}

function consoleHeaders(preview: PreviewAddress): Record<string, string> {
  const previews = `${preview.scheme}://*.${preview.suffix}${visiblePort(preview)}`
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    // Editors, terminals and charts set styles of single elements.
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "connect-src 'self'",
    `frame-src ${previews}`,
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ]
  return {
    'content-security-policy': policy.join('; '),
    ...PAGE_HEADERS,
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  }
}

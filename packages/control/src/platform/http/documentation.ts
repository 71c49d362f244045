import { readdir } from 'node:fs/promises'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { PAGE_HEADERS, serveAssets } from './static-assets.ts'
import { acceptsHtml } from './accepts-html.ts'

const PREFIX = '/docs/'
const PAGE = /\.html$/
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  ...PAGE_HEADERS,
} as const

/** What a browser sees instead of a page that does not exist. It has no address of its own. */
const NO_PAGE = '404.html'

/**
 * Serves the built documentation: `databases.html` at `/docs/databases`, and files with a hash in their names below
 * `/docs/assets/`.
 * @param folder what `packages/docs/src/main.ts` wrote
 */
export async function registerDocumentation(app: FastifyInstance, folder: string): Promise<void> {
  await serveAssets(app, folder, `${PREFIX}assets/`, HEADERS)
  const names = await readdir(folder, { recursive: true })
  const pages = new Set(names.filter((name) => PAGE.test(name)))
  const hasNoPage = pages.delete(NO_PAGE)
  app.get('/docs', { config: { isPage: true } }, (_request, reply) => reply.redirect(PREFIX))
  app.get(`${PREFIX}*`, { config: { isPage: true } }, async (request: FastifyRequest, reply: FastifyReply) => {
    const { '*': name } = request.params as { '*': string }
    const file = `${name === '' ? 'index' : name}.html`
    const exists = pages.has(file)
    if (!exists && !(hasNoPage && acceptsHtml(request))) throw new ApiError('notFound')
    reply.code(exists ? 200 : 404).headers({ ...HEADERS, 'cache-control': 'no-cache' })
    // The files of a release all have the same time, so neither their time nor a tag made of it tells versions apart.
    return reply.sendFile(exists ? file : NO_PAGE, folder, { cacheControl: false, etag: false, lastModified: false })
  })
}

import { escapeHtml } from '@offshoot/kit/escape-html'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { acceptsHtml } from '../../../platform/http/accepts-html.ts'

interface Page {
  readonly status: number
  readonly error: string
  readonly detail: string
  /** Path and query of the page that a browser opens next by itself. */
  readonly next?: string
}

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;margin:15vh auto;max-width:40rem;padding:0 1rem;color:#222;background:#fff}' +
  'h1{font-size:1.3rem}p{color:#555}footer{margin-top:2.5rem;font-size:.875rem}code{overflow-wrap:anywhere}@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}p{color:#aaa}}'

/**
 * A page for a browser, and the API's flat error for other clients. The texts are ours, and the address is escaped as an
 * address is; only the request id may be anything that a caller gave.
 */
export function answerPage(
  request: FastifyRequest,
  reply: FastifyReply,
  { status, error, detail, next }: Page,
): FastifyReply {
  reply.code(status).header('cache-control', 'no-store').header('x-content-type-options', 'nosniff')
  if (!acceptsHtml(request)) return reply.send({ error, detail })
  const refresh =
    next === undefined ? '' : `<meta http-equiv="refresh" content="0; url=${next.replaceAll('&', '&amp;')}">`
  // A page that opens another by itself says nothing that somebody would report.
  const footer =
    next === undefined
      ? `<footer><p>Request id: <code>${escapeHtml(request.id)}</code>. Whoever runs this service can find the request by it.</p></footer>`
      : ''
  const title = `${error.charAt(0).toUpperCase()}${error.slice(1)}`
  return reply
    .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'")
    .type('text/html; charset=utf-8').send(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">${refresh}<title>${status} ${title}</title>
<style>${STYLE}</style></head><body><h1>${title}</h1><p>${detail}</p>${footer}</body></html>
`)
}

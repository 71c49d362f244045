import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { OrgsContext } from './orgs-context.ts'
import { libraryRefusal } from './library-refusal.ts'
import { CLIENT_IP_HEADER } from './accounts.ts'

/** `/api/auth/*`: sign-up, sign-in and tokens, in the protocol of the accounts library and its clients. */
export function accountsRoutes(app: FastifyInstance, { accounts, config }: OrgsContext): void {
  app.route({
    method: ['GET', 'POST'],
    url: '/api/auth/*',
    handler: async (request, reply) => {
      const answer = await accounts.handler(webRequest(request, config.public_url))
      const given = Buffer.from(await answer.arrayBuffer())
      if (answer.status === 404 && given.length === 0) throw new ApiError('notFound')
      const body = answer.status < 400 ? given : JSON.stringify(libraryRefusal(given.toString(), answer.status))
      for (const [name, value] of answer.headers) {
        if (name !== 'set-cookie' && name !== 'content-length') reply.header(name, value)
      }
      for (const cookie of answer.headers.getSetCookie()) reply.header('set-cookie', cookie)
      if (answer.status >= 400) reply.type('application/json; charset=utf-8')
      return reply.code(answer.status).send(body)
    },
  })
}

/** Browsers name a request's origin in these headers. A request without any of them does not come from a web page. */
const PAGES_SEND = ['origin', 'referer', 'sec-fetch-site']
/** These operations authenticate with the password in their body, so an existing session does not matter. */
const BRINGS_PASSWORD = /^\/api\/auth\/sign-(?:in|up)\/email(?:\?|$)/
const OPENING_BRACE = 0x7b

/**
 * Relaxes the library's cross-site checks for requests that come from no web page: a script may keep its cookies, and
 * may label JSON as a form, as curl does. From a page, both are refused.
 */
function forNoPage(headers: Headers, url: string, body: Uint8Array | null): void {
  if (BRINGS_PASSWORD.test(url)) headers.delete('cookie')
  // The relaxations below need no cookie: without one, a page could not misuse the request.
  if (headers.has('cookie')) return
  // Node's own client sends only this one of the headers that browsers send.
  headers.delete('sec-fetch-mode')
  if (body?.[0] === OPENING_BRACE) headers.set('content-type', 'application/json')
}

function webRequest(request: FastifyRequest, publicUrl: string): Request {
  const headers = new Headers()
  for (const [name, value] of Object.entries(request.headers)) {
    if (name !== 'content-length' && name !== 'transfer-encoding') headers.set(name, [value ?? ''].flat().join(', '))
  }
  const { method } = request
  const body = Buffer.isBuffer(request.body) && method === 'POST' ? new Uint8Array(request.body) : null
  if (!PAGES_SEND.some((name) => headers.has(name))) forNoPage(headers, request.url, body)
  // The socket's address, or the one that a trusted proxy reports; never one that the caller claims.
  headers.set(CLIENT_IP_HEADER, request.ip)
  return new Request(new URL(request.url, publicUrl), { method, headers, body })
}

import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { OrgsContext } from '../orgs-context.ts'
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

/** By these browsers tell where a request is from: what has neither is from no page. */
const PAGES_SEND = ['origin', 'referer', 'sec-fetch-site']
/** These go by the password that they bring, whoever's session there was before. */
const BRINGS_PASSWORD = /^\/api\/auth\/sign-(?:in|up)\/email(?:\?|$)/
const OPENING_BRACE = 0x7b

/** A script that keeps its cookies, or labels its JSON as forms as curl does, is refused for neither; a page would be. */
function forNoPage(headers: Headers, url: string, body: Uint8Array | null): void {
  if (BRINGS_PASSWORD.test(url)) headers.delete('cookie')
  // Without a cookie there is nothing that a page could make use of.
  if (headers.has('cookie')) return
  // Of those headers Node's own client sends this one alone.
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
  // The socket's, or what a proxy of ours says; never what a caller says of itself.
  headers.set(CLIENT_IP_HEADER, request.ip)
  return new Request(new URL(request.url, publicUrl), { method, headers, body })
}

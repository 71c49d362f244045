import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Control } from '../control.ts'
import { libraryRefusal } from './library-refusal.ts'
import { CLIENT_IP_HEADER } from './accounts.ts'

/** `/api/auth/*`: sign-up, sign-in and tokens, in the protocol of the accounts library and its clients. */
export function accountsRoutes(app: FastifyInstance, { accounts, config }: Control): void {
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

function webRequest(request: FastifyRequest, publicUrl: string): Request {
  const headers = new Headers()
  for (const [name, value] of Object.entries(request.headers)) {
    if (name !== 'content-length' && name !== 'transfer-encoding') headers.set(name, [value ?? ''].flat().join(', '))
  }
  // Node's own client sends this one of the headers by which browsers tell where a request is from, and no other. What has
  // neither an origin nor a site is from no page, and without a cookie there is nothing that a page could make use of.
  if (!['origin', 'referer', 'cookie', 'sec-fetch-site'].some((name) => headers.has(name)))
    headers.delete('sec-fetch-mode')
  // The socket's, or what a proxy of ours says; never what a caller says of itself.
  headers.set(CLIENT_IP_HEADER, request.ip)
  const { method } = request
  const body = Buffer.isBuffer(request.body) && method === 'POST' ? new Uint8Array(request.body) : null
  return new Request(new URL(request.url, publicUrl), { method, headers, body })
}

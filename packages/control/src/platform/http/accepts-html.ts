import type { FastifyRequest } from 'fastify'

/** Whether the caller asks for a page, as browsers do. */
export function acceptsHtml({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return /text\/html/i.test(headers.accept ?? '')
}

import { join } from 'node:path'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply } from 'fastify'

/** What browsers are told of every page and file that control serves, beside its own content security policy. */
export const PAGE_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
} as const

/**
 * Serves `FOLDER/assets` below a path. The names of these files contain a hash of their content, so browsers keep them
 * for good. It also makes `reply.sendFile`.
 */
export async function serveAssets(
  app: FastifyInstance,
  folder: string,
  prefix: string,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  await app.register(fastifyStatic, {
    root: join(folder, 'assets'),
    prefix,
    index: false,
    preCompressed: true,
    immutable: true,
    maxAge: '1y',
    decorateReply: !app.hasReplyDecorator('sendFile'),
    setHeaders: (reply: FastifyReply) => void reply.headers(headers),
  })
}

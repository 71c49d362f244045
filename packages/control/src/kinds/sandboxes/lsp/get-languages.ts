import { LANGUAGES, languages } from '@offshoot/contract/lsp'
import type { FastifyInstance } from 'fastify'

/** `GET /v1/lsp/languages`: the languages that `GET lsp/{lang}` accepts. */
export function getLanguages(app: FastifyInstance): void {
  app.get('/v1/lsp/languages', {
    config: {
      credential: 'key-or-jwt',
      docs: { summary: 'List languages with a server', tag: 'Language servers', status: 200, answer: languages },
    },
    handler: async () => LANGUAGES,
  })
}

import { EDGE_ACME_PATH, EDGE_APPS_PATH, EDGE_CERTIFICATES_PATH, EDGE_LOAD_PATH } from '@offshoot/contract/edge-app'
import { EDGE_DATABASES_PATH } from '@offshoot/contract/edge-database'
import { EDGE_CERTIFICATE_PATH, EDGE_HOSTS_PATH, EDGE_VERSION_PATH } from '@offshoot/contract/edge-host'
import { EDGE_SSH_ADMISSIONS_PATH, EDGE_SSH_HOST_KEY_PATH } from '@offshoot/contract/edge-ssh'
import { type ErrorName, errorNames, registeredError } from '@offshoot/contract/errors'
import { HOST_CERTIFICATE_PATH, HOST_JOIN_PATH, HOST_VERSION_PATH } from '@offshoot/contract/host-enrolment'
import { releasePath } from '@offshoot/contract/sandbox-release'
import { PREVIEW_CHECKS_PATH, PREVIEW_ENTRY_PATH, PREVIEW_PASSES_PATH } from '@offshoot/contract/preview-access'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { z } from 'zod'
import packageJson from '../../../package.json' with { type: 'json' }
import { OpenApiSchemas } from './openapi-schemas.ts'
import type { AnswerDocs, DescribedRoute, RouteDocs } from './route-docs.ts'
import { ERRORS_ELSEWHERE, ERRORS_EVERYWHERE, errorsOf } from './route-errors.ts'

type Json = Record<string, unknown>

/**
 * Documents every route at `GET /openapi.json` (OpenAPI 3.1). Call this before the first route is added. The first
 * request makes the document, so that the start does not wait for it.
 */
export function registerOpenApi(
  app: FastifyInstance,
  publicUrl: string,
  /** Operations that a library serves below a route without docs. */
  others: readonly DescribedRoute[],
): void {
  const described: [RouteOptions, RouteDocs][] = others.map(({ method, url, docs }) => [
    { method, url } as RouteOptions,
    docs,
  ])
  app.addHook('onRoute', (route) => {
    const { docs } = route.config ?? {}
    if (route.method === 'HEAD' || route.config?.isRefusal === true || route.config?.isPage === true) return
    if (docs !== undefined) described.push([route, docs])
    else if (!UNDESCRIBED.has(route.url)) throw new Error(`${String(route.method)} ${route.url} has no docs`)
  })
  let made: Json | undefined
  app.get('/openapi.json', {
    config: {
      docs: { summary: 'This document', tag: 'Service', status: 200, answer: z.record(z.string(), z.unknown()) },
    },
    handler: async () => (made ??= openApiDocument(publicUrl, described)),
  })
}

function openApiDocument(publicUrl: string, described: readonly (readonly [RouteOptions, RouteDocs])[]): Json {
  const paths: Record<string, Json> = {}
  const schemas = new OpenApiSchemas()
  for (const [route, docs] of described) {
    const path = templated(route.url).replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [String(route.method).toLowerCase()]: operation(route, docs, schemas) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Offshoot', version: packageJson.version, description: 'Isolated microVM sandboxes.' },
    servers: [{ url: publicUrl }],
    paths,
    components: {
      securitySchemes: SECURITY_SCHEMES,
      schemas: { Error: ERROR, ...schemas.components },
      /** All errors, and those that any route may answer and therefore no route lists. */
      'x-errors': Object.fromEntries(errorNames.map((name) => [name, registeredError(name)])),
      'x-errors-everywhere': ERRORS_EVERYWHERE,
      'x-errors-elsewhere': ERRORS_ELSEWHERE,
    },
  }
}

/**
 * Routes without docs: the accounts library's, which are described separately, the wildcard, the internal routes of
 * edges, and the files of the console and the documentation.
 */
const UNDESCRIBED: ReadonlySet<string> = new Set([
  '/api/auth/*',
  '*',
  EDGE_APPS_PATH,
  `${EDGE_APPS_PATH}/:id`,
  EDGE_LOAD_PATH,
  `${EDGE_DATABASES_PATH}/:id`,
  EDGE_SSH_ADMISSIONS_PATH,
  EDGE_SSH_HOST_KEY_PATH,
  EDGE_HOSTS_PATH,
  EDGE_CERTIFICATE_PATH,
  EDGE_VERSION_PATH,
  releasePath(':id'),
  HOST_JOIN_PATH,
  HOST_CERTIFICATE_PATH,
  HOST_VERSION_PATH,
  `${EDGE_CERTIFICATES_PATH}/:domain`,
  `${EDGE_ACME_PATH}/:domain/:token`,
  PREVIEW_CHECKS_PATH,
  PREVIEW_PASSES_PATH,
  PREVIEW_ENTRY_PATH,
  '/assets/*',
  '/docs/assets/*',
])

/** By the credentials that a route accepts. */
const SECURITY_SCHEMES = {
  'key-or-jwt': { type: 'http', scheme: 'bearer', description: 'An API key (ofs_…) or the JWT of a user.' },
  'query-token': {
    type: 'apiKey',
    in: 'query',
    name: 'access_token',
    description: 'The same, where a browser cannot set headers.',
  },
  jwt: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'The JWT of a user.' },
  broker: { type: 'http', scheme: 'bearer', description: 'The broker token of the database (ofs_pg_…).' },
  operator: { type: 'http', scheme: 'bearer', description: 'The key of an operator.' },
} as const

const ERROR: Json = {
  type: 'object',
  required: ['error'],
  properties: { error: { type: 'string' }, detail: { type: 'string' } },
}

/** OpenAPI needs a name for the wildcard of a path. */
const templated = (url: string) => url.replace('*', ':path')

function security({ config: { credential, takesQueryToken = false } = {} }: RouteOptions): Json[] {
  if (credential === undefined) return []
  return [{ [credential]: [] }, ...(takesQueryToken ? [{ 'query-token': [] }] : [])]
}

function operation(route: RouteOptions, docs: RouteDocs, schemas: OpenApiSchemas): Json {
  const { summary, tag } = docs
  return {
    operationId: `${String(route.method).toLowerCase()}${route.url.replace('*', 'rest').replaceAll(/[^\w]+(\w)/g, (_all, letter: string) => letter.toUpperCase())}`,
    summary,
    tags: [tag],
    parameters: [
      ...pathParameters(templated(route.url)),
      ...queryParameters(docs, schemas),
      ...headerParameters(route),
    ],
    security: security(route),
    ...(route.config?.operatorRole !== undefined && { 'x-operator-role': route.config.operatorRole }),
    ...requestBody(docs, schemas),
    responses: {
      ...answers(docs, schemas),
      ...errorResponses(errorsOf(route)),
    },
  }
}

const DESCRIPTIONS: Partial<Record<RouteDocs['status'], string>> = { 101: 'Upgraded', 204: 'Done', 206: 'A part of it' }

/** Responses with the same status differ in their media type. */
function answers(docs: RouteDocs, schemas: OpenApiSchemas): Json {
  const content = new Map<number, Json>()
  for (const each of [docs, ...(docs.also ?? [])]) {
    content.set(each.status, { ...content.get(each.status), ...answerContent(each, schemas) })
  }
  return Object.fromEntries(
    [...content].map(([status, types]) => [
      status,
      {
        description: DESCRIPTIONS[status as RouteDocs['status']] ?? 'Success',
        ...(docs.query !== undefined && 'cursor' in docs.query.shape && { headers: { Link: LINK_HEADER } }),
        ...(Object.keys(types).length > 0 && { content: types }),
      },
    ]),
  )
}

function requestBody({ body, bodyType }: RouteDocs, schemas: OpenApiSchemas): Json {
  if (bodyType !== undefined) return { requestBody: { required: true, content: { [bodyType]: {} } } }
  return body === undefined
    ? {}
    : { requestBody: { required: !body.safeParse({}).success, content: jsonContent(schemas.of(body, 'input')) } }
}

function answerContent({ answer, mediaType }: AnswerDocs, schemas: OpenApiSchemas): Json {
  const schema = answer && schemas.of(answer, 'output')
  if (mediaType !== undefined) return { [mediaType]: { schema: schema ?? { type: 'string' } } }
  return schema === undefined ? {} : jsonContent(schema)
}

function pathParameters(url: string): Json[] {
  return [...url.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
}

function queryParameters({ query }: RouteDocs, schemas: OpenApiSchemas): Json[] {
  if (query === undefined) return []
  return Object.entries(schemas.ofQuery(query)).map(([name, schema]) => ({
    name,
    in: 'query',
    required: !(query.shape[name] as z.ZodType).safeParse(undefined).success,
    schema,
  }))
}

function headerParameters({ config = {} }: RouteOptions): Json[] {
  const { credential, idempotent } = config
  return [
    ...(credential === undefined || credential === 'operator' || credential === 'broker' ? [] : [ORG_HEADER]),
    ...(idempotent === undefined ? [] : [IDEMPOTENCY_HEADER, CANCEL_HEADER]),
  ]
}

const ORG_HEADER = {
  name: 'X-Offshoot-Org',
  in: 'header',
  required: false,
  description: 'Id of the workspace that a JWT acts in for this request.',
  schema: { type: 'string' },
}
const LINK_HEADER = {
  description: '`<address>; rel="next"`: the address of the next page. Absent on the last page.',
  schema: { type: 'string' },
}
const IDEMPOTENCY_HEADER = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'Of requests with the same one within 24 hours only the first is carried out.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
}
const CANCEL_HEADER = {
  name: 'Idempotency-Cancel',
  in: 'header',
  required: false,
  description:
    'With `true` and an `Idempotency-Key`: the request is not carried out, now or later. If it was, the answer is that of the first one, which names what to delete.',
  schema: { type: 'string', enum: ['true'] },
}

/** Several errors may share a status. The description lists their texts, `x-errors` their names. */
function errorResponses(names: readonly ErrorName[]): Json {
  const byStatus = new Map<number, ErrorName[]>()
  for (const name of names) {
    const { status } = registeredError(name)
    byStatus.set(status, [...(byStatus.get(status) ?? []), name])
  }
  const content = jsonContent({ $ref: '#/components/schemas/Error' })
  return Object.fromEntries(
    [...byStatus].map(([status, all]) => {
      const texts = new Set(all.map((name) => registeredError(name).error))
      return [status, { description: [...texts].join('; '), content, 'x-errors': all }]
    }),
  )
}

function jsonContent(schema: Json): Json {
  return { 'application/json': { schema } }
}

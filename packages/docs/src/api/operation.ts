import { escapeHtml } from '../html.ts'
import { codeBlock } from '../markdown.ts'
import type { ApiDocument, Content, Operation, Parameter } from './document.ts'
import { exampleOf, type Field, fieldsOf, fieldTable, prose, typeOf } from './schema.ts'

const JSON_TYPE = 'application/json'
const BASE_URL = 'http://127.0.0.1:8080'
/** A client upgrades these to a WebSocket. */
const WEB_SOCKETS = /\/(exec\/ws|exec\/pty|lsp\/\{lang\})$/

/** One route. */
export interface Route {
  readonly method: string
  readonly path: string
  readonly operation: Operation
}

/** What the script of the page needs to send the request. */
export interface SendableRequest {
  readonly method: string
  readonly path: string
  readonly parameters: readonly { readonly name: string; readonly in: Parameter['in']; readonly required: boolean }[]
  /** The media type of the body; null without one. */
  readonly bodyType: string | null
  readonly body: string
  readonly needsKey: boolean
}

export function anchorOf({ method, path }: Route): string {
  return `${method}-${path}`
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/-$/, '')
}

export function renderOperation(document: ApiDocument, route: Route): string {
  const { operation } = route
  return `<section class="operation">
<h2 id="${anchorOf(route)}">${escapeHtml(operation.summary)}</h2>
<p class="route"><span class="method">${route.method}</span> <code>${escapeHtml(route.path)}</code></p>
${operation.description === undefined ? '' : `<p>${prose(operation.description)}</p>`}
<p>${credentialsOf(document, operation)}</p>
${parametersOf(document, operation)}
${bodyOf(document, operation)}
${answersOf(document, operation)}
${examplesOf(document, route)}
${sendableOf(document, route)}
</section>
`
}

function credentialsOf(document: ApiDocument, { security, 'x-operator-role': role }: Operation): string {
  const names = security.flatMap((alternative) => Object.keys(alternative))
  if (names.length === 0) return 'Needs no credential.'
  const texts = names.map((name) => document.components.securitySchemes[name]?.description ?? name)
  const needed = `Credential: ${prose(texts.join(' '))}`
  return role === undefined ? needed : `${needed} Role: <code>${escapeHtml(role)}</code>.`
}

function parametersOf(document: ApiDocument, { parameters }: Operation): string {
  if (parameters.length === 0) return ''
  const fields = parameters.map(({ name, in: place, required, description, schema }): Field => ({
    path: name,
    type: `${place}: ${typeOf(document, schema)}`,
    isRequired: required,
    description: description ?? schema.description ?? '',
  }))
  return `<h3>Parameters</h3>${fieldTable(fields)}`
}

function bodyOf(document: ApiDocument, { requestBody }: Operation): string {
  if (requestBody === undefined) return ''
  return Object.entries(requestBody.content)
    .map(([type, { schema }]) => {
      const table = type === JSON_TYPE ? fieldTable(fieldsOf(document, schema)) : ''
      return `<h3>Body</h3><p><code>${escapeHtml(type)}</code></p>${table}`
    })
    .join('\n')
}

function answersOf(document: ApiDocument, { responses }: Operation): string {
  const rows = Object.entries(responses).map(
    ([status, { description, content }]) =>
      `<tr><td><code>${status}</code></td><td>${prose(description)}</td><td>${escapeHtml(mediaTypes(content))}</td></tr>`,
  )
  const successes = Object.entries(responses).flatMap(([status, { content = {} }]) =>
    status.startsWith('2') ? Object.values(content).map(({ schema }) => fieldsOf(document, schema)) : [],
  )
  const fields = successes.find((each) => each.length > 0) ?? []
  const inside =
    fields.length === 0 ? '' : `<details><summary>Fields of the answer</summary>${fieldTable(fields)}</details>`
  const head =
    '<thead><tr><th scope="col">Status</th><th scope="col">Meaning</th><th scope="col">Type</th></tr></thead>'
  return `<h3>Answers</h3><div class="table" tabindex="0" role="group" aria-label="Table"><table>${head}<tbody>${rows.join('')}</tbody></table></div>${inside}`
}

function mediaTypes(content: Content = {}): string {
  return Object.keys(content).join(', ')
}

interface ExampleBody {
  readonly type: string
  /** JSON; empty for other types. */
  readonly text: string
}

function exampleBody(document: ApiDocument, { requestBody }: Operation): ExampleBody | null {
  const [entry] = Object.entries(requestBody?.content ?? {})
  if (entry === undefined) return null
  const [type, { schema }] = entry
  return { type, text: type === JSON_TYPE ? JSON.stringify(exampleOf(document, schema), null, 2) : '' }
}

function examplesOf(document: ApiDocument, route: Route): string {
  const body = exampleBody(document, route.operation)
  const hasSdk = route.path.startsWith('/v1/') && body?.type !== 'multipart/form-data' && !WEB_SOCKETS.test(route.path)
  return `<h3>Examples</h3>
${codeBlock(curlExample(route, body), 'bash')}${hasSdk ? codeBlock(sdkExample(route, body), 'typescript') : ''}`
}

function requiredNames({ parameters }: Operation, place: Parameter['in']): string[] {
  return parameters.filter((parameter) => parameter.required && parameter.in === place).map(({ name }) => name)
}

function curlExample({ method, path, operation }: Route, body: ExampleBody | null): string {
  const query = requiredNames(operation, 'query').map((name) => `${name}=${name.toUpperCase()}`)
  const address = `${BASE_URL}${path.replace(/\{(\w+)\}/g, (_all, name: string) => name.toUpperCase())}`
  const words = [`curl '${address}${query.length > 0 ? `?${query.join('&')}` : ''}'`]
  if (method !== 'GET' && !(method === 'POST' && body !== null)) words.push(`-X ${method}`)
  if (operation.security.length > 0) words.push('-H "Authorization: Bearer $KEY"')
  if (body?.type === JSON_TYPE) words.push(`-d '${JSON.stringify(JSON.parse(body.text))}'`)
  else if (body !== null) words.push(`-H 'Content-Type: ${body.type}' --data-binary @FILE`)
  return words.join(' \\\n  ')
}

function sdkExample({ method, path, operation }: Route, body: ExampleBody | null): string {
  const places = (['path', 'query'] as const).flatMap((place) => {
    const names = requiredNames(operation, place)
    return names.length === 0 ? [] : [`${place}: { ${names.map((name) => `${name}: '…'`).join(', ')} }`]
  })
  const isJson = body?.type === JSON_TYPE
  const bodies = body === null ? [] : [isJson ? `body: ${JSON.stringify(JSON.parse(body.text))}` : 'body: bytes']
  const parts = [...places, ...bodies]
  const input = parts.length === 0 ? '' : `, { ${parts.join(', ')} }`
  const answer = Object.entries(operation.responses).find(([status]) => status.startsWith('2'))?.[1]
  const type = mediaTypes(answer?.content)
  if (type === 'text/event-stream')
    return `for await (const { event, data } of client.stream('${method} ${path}'${input})) console.log(event, data)`
  const call = type === '' || type.includes('json') ? 'request' : 'fetch'
  return `const answer = await client.${call}('${method} ${path}'${input})`
}

function sendableOf(document: ApiDocument, { method, path, operation }: Route): string {
  if (WEB_SOCKETS.test(path)) return '<p>This route is a WebSocket, so the page sends no request to it.</p>'
  const body = exampleBody(document, operation)
  const request: SendableRequest = {
    method,
    path,
    parameters: operation.parameters.map(({ name, in: place, required }) => ({ name, in: place, required })),
    bodyType: body?.type ?? null,
    body: body?.text ?? '',
    needsKey: operation.security.length > 0,
  }
  return `<details class="send" data-request="${escapeHtml(JSON.stringify(request))}"><summary>Send a request</summary></details>`
}

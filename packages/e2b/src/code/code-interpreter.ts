import type { IncomingMessage, ServerResponse } from 'node:http'
import { json as readJson } from 'node:stream/consumers'
import { codeContext } from '@offshoot/contract/code'
import { readServerSentEvents } from '@offshoot/kit/server-sent-events'
import { z } from 'zod'
import type { EnvdCall } from '../envd/call.ts'
import { answerFailure, answerJson, HttpFailure } from '../envd/http-answer.ts'

/** Bytes of a request. */
const MAX_BODY_BYTES = 8 * 1024 * 1024

/** Names that E2B's clients use beside ours. */
const LANGUAGES: Readonly<Record<string, string>> = { js: 'javascript', ts: 'typescript' }

const language = z
  .string()
  .nullish()
  .transform((name) => (name ? (LANGUAGES[name] ?? name) : undefined))

const executeBody = z.object({
  code: z.string(),
  context_id: z.string().nullish(),
  language,
  env_vars: z.record(z.string(), z.string()).nullish(),
})
const contextBody = z.object({ cwd: z.string().nullish(), language })

const event = z.looseObject({
  chunk: z.string().optional(),
  error: z.string().optional(),
  execution_count: z.int().optional(),
})
type Event = z.infer<typeof event>

/** E2B's protocol for code, which its clients expect on port 49999 of a sandbox, in place of our own routes. */
export async function answerCode(call: EnvdCall, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url ?? '/', 'http://sandbox')
  const [, name = '', id, action] = /^\/(\w+)(?:\/([\w-]+))?(?:\/(\w+))?$/.exec(pathname) ?? []
  try {
    if (name === 'health') return void response.writeHead(204).end()
    if (name === 'execute' && request.method === 'POST') return await execute(call, request, response)
    if (name === 'contexts') return await answerContexts(call, { id, action }, request, response)
    throw new HttpFailure(404, 'not found')
  } catch (error) {
    answerFailure(response, error)
  }
}

async function answerContexts(
  call: EnvdCall,
  { id, action }: { readonly id: string | undefined; readonly action: string | undefined },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = '' } = request
  const path = `/code/contexts${id === undefined ? '' : `/${id}`}`
  if (method === 'GET' && id === undefined) {
    const contexts = await call.control.read(z.array(codeContext), call.request('GET', path))
    return answerJson(response, 200, contexts)
  }
  if (method === 'POST' && id === undefined) {
    const { cwd, language: named } = await bodyOf(request, contextBody)
    const json = { ...(cwd && { cwd }), ...(named !== undefined && { language: named }) }
    return answerJson(response, 200, await call.control.read(codeContext, call.request('POST', path, { json })))
  }
  if (method === 'DELETE' && id !== undefined) await call.control.send(call.request('DELETE', path))
  else if (method === 'POST' && action === 'restart')
    await call.control.send(call.request('POST', `${path}/restart`, { json: {} }))
  else throw new HttpFailure(404, 'not found')
  response.writeHead(204).end()
}

/** Lines of JSON as the code writes them. A client that hangs up interrupts the code. */
async function execute(call: EnvdCall, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { code, context_id: context, language: named, env_vars: env } = await bodyOf(request, executeBody)
  const hangUp = new AbortController()
  response.once('close', () => hangUp.abort())
  const json = {
    code,
    ...(context && { context_id: context }),
    ...(!context && named !== undefined && { language: named }),
    env: { ...call.env, ...env },
  }
  const { body } = await call.control.open(call.request('POST', '/code', { json, signal: hangUp.signal }))
  response.writeHead(200, { 'content-type': 'application/x-ndjson' })
  // Clients start their time limit when the answer begins.
  response.flushHeaders()
  for await (const batch of readServerSentEvents(body)) {
    for (const { event: type, data } of batch) {
      const parsed = event.parse(JSON.parse(data))
      // The execution is lost. Clients then ask whether the sandbox runs, and tell their users.
      if (parsed.error !== undefined) return await call.drop()
      for (const line of linesOf(type, parsed)) await write(response, `${JSON.stringify(line)}\n`)
      if (type === 'end') return void response.end()
    }
  }
  await call.drop()
}

function linesOf(type: string, data: Event): readonly object[] {
  switch (type) {
    case 'stdout':
    case 'stderr':
      return [{ type, text: data.chunk ?? '', timestamp: Date.now() * 1_000_000 }]
    case 'result':
    case 'error':
      return [{ type, ...data }]
    case 'end':
      return [
        { type: 'number_of_executions', execution_count: data.execution_count ?? 0 },
        { type: 'end_of_execution' },
      ]
    default:
      return []
  }
}

/** Waits while the client does not read. */
async function write(response: ServerResponse, line: string): Promise<void> {
  if (response.destroyed || response.write(line)) return
  await new Promise<void>((resolve) => {
    response.once('drain', resolve)
    response.once('close', resolve)
  })
}

async function bodyOf<T>(request: IncomingMessage, schema: z.ZodType<T>): Promise<T> {
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES) throw new HttpFailure(413, 'request too large')
  const parsed = schema.safeParse(await readJson(bounded(request)).catch(() => null))
  if (!parsed.success) throw new HttpFailure(400, 'invalid request')
  return parsed.data
}

async function* bounded(request: IncomingMessage): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_BODY_BYTES) throw new HttpFailure(413, 'request too large')
    yield chunk
  }
}

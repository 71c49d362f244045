import { type IncomingMessage, request as httpRequest } from 'node:http'
import { CODE_PORT } from '@offshoot/contract/code'
import { ApiError } from '@offshoot/contract/errors'
import type { GuestConnection } from '@offshoot/guest-link/guest-connection'
import { z } from 'zod'
import { runCommand } from '../../machine/guest/command.ts'
import { accountOf, withGuest, withTemplateDefaults } from '../model/guest-access.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { dialPort } from '../ports/guest-ports.ts'
import { ConnectionStream } from './connection-stream.ts'

/** Milliseconds until the head of an answer. A busy guest under emulation needs seconds. */
const HEAD_MS = 60_000
/** Bytes of an answer that is not a stream. */
const MAX_ANSWER_BYTES = 256 * 1024
/** Characters of an error text that the guest sends. */
const MAX_REASON_CHARS = 300
/** Bytes of the variables of a sandbox. */
const MAX_VARIABLES_BYTES = 1024 * 1024
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/
/** Variables of the account that asked, which the interpreter has of its own. */
const OF_THE_ACCOUNT = new Set(['HOME', 'USER', 'LOGNAME', 'SHELL', 'PWD', 'OLDPWD', 'SHLVL', '_'])

const refusal = z.object({ error: z.string() })

export interface CodeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly body?: unknown
  /** Closes the connection, which interrupts code that runs. */
  readonly signal: AbortSignal
}

/** The interpreter was started again, and has lost the variables of the sandbox. */
class VariablesMissing extends Error {
  override readonly name = 'VariablesMissing'
}

/** Sandboxes whose code interpreter has the variables of the sandbox. */
const withVariables = new WeakSet<Sandbox>()

/**
 * Starts an execution. The interpreter has been running since before the sandbox existed, so the first execution brings
 * the variables of the sandbox. So does the first one after the interpreter was started again.
 * @throws as {@link askCodeServer}
 */
export async function execute(sandbox: Sandbox, body: object, signal: AbortSignal): Promise<IncomingMessage> {
  const ask = async (variables: Record<string, string> | null) =>
    askCodeServer(sandbox, { method: 'POST', path: '/execute', body: { ...body, sandbox_env: variables }, signal })
  if (withVariables.has(sandbox)) {
    try {
      return await ask(null)
    } catch (error) {
      if (!(error instanceof ApiError && error.cause instanceof VariablesMissing)) throw error
    }
  }
  const answer = await ask(await variablesOf(sandbox, signal))
  withVariables.add(sandbox)
  return answer
}

/**
 * Sends a request to the code interpreter of a sandbox, which it wakes if necessary.
 * @returns an answer with status 200 to 299, whose body comes from a guest that is not trusted
 * @throws ApiError 400, 404, 409 no code interpreter or paused, 429
 */
async function askCodeServer(sandbox: Sandbox, request: CodeRequest): Promise<IncomingMessage> {
  if (request.signal.aborted) throw givenUp()
  const connection = await dialPort(sandbox, CODE_PORT).catch((error: unknown) => {
    if (error instanceof ApiError && error.kind === 'nothingListening') {
      throw new ApiError('noCodeInterpreter', {}, { cause: error })
    }
    throw error
  })
  const answer = await exchange(connection, request)
  const status = answer.statusCode ?? 0
  if (status >= 200 && status < 300) return answer
  throw await refusalOf(answer, status)
}

/** Like {@link askCodeServer}, for an answer that is a short JSON document; `null` if it is empty. */
export async function askForJson<Schema extends z.ZodType>(
  sandbox: Sandbox,
  request: CodeRequest,
  schema: Schema,
): Promise<z.infer<Schema>> {
  const answer = await readAll(await askCodeServer(sandbox, request), MAX_ANSWER_BYTES)
  const parsed = schema.safeParse(answer === '' ? null : parseJson(answer))
  if (!parsed.success) throw notTheInterpreter(parsed.error)
  return parsed.data
}

/** Sends one HTTP request over a connection to the guest. Node's parser bounds the head of the answer. */
async function exchange(
  connection: GuestConnection,
  { method, path, body, signal }: CodeRequest,
): Promise<IncomingMessage> {
  const socket = new ConnectionStream(connection)
  const abort = () => socket.destroy(new Error('the request was given up'))
  signal.addEventListener('abort', abort, { once: true })
  void connection.closed.catch(() => undefined).finally(() => signal.removeEventListener('abort', abort))
  if (signal.aborted) abort()
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const text = body === undefined ? '' : JSON.stringify(body)
  const headers = {
    host: 'localhost',
    connection: 'close',
    ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
  }
  // With an `agent`, Node would connect to the host itself instead of calling `createConnection`.
  const asked = httpRequest({ method, path, headers, createConnection: () => socket })
  const timer = setTimeout(() => socket.destroy(new Error('the guest does not answer')), HEAD_MS)
  asked.once('response', resolve)
  asked.on('error', reject)
  asked.end(text)
  try {
    return await promise
  } catch (error) {
    socket.destroy()
    if (signal.aborted) throw givenUp()
    throw notTheInterpreter(error)
  } finally {
    clearTimeout(timer)
  }
}

async function refusalOf(answer: IncomingMessage, status: number): Promise<ApiError> {
  const said = refusal.safeParse(parseJson(await readAll(answer, MAX_ANSWER_BYTES)))
  if (!said.success) return notTheInterpreter(said.error)
  const error = said.data.error.slice(0, MAX_REASON_CHARS)
  if (status === 400) return new ApiError('invalidField', { error })
  if (status === 404) return new ApiError('notFound', { detail: error })
  if (status === 428) return notTheInterpreter(new VariablesMissing(error))
  if (status === 429) return new ApiError('tooManyCommands', { detail: error })
  return notTheInterpreter(new Error(`status ${status}`))
}

/** The caller is gone, its time is over, or this agent ends. */
function givenUp(): ApiError {
  return new ApiError('shuttingDown', { error: 'the request was given up' })
}

/** The guest's user may run any other server on the port. */
function notTheInterpreter(cause: unknown): ApiError {
  return new ApiError('noCodeInterpreter', { detail: `port ${CODE_PORT} does not answer as one` }, { cause })
}

async function readAll(answer: IncomingMessage, maxBytes: number): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of answer) {
      const part = chunk as Buffer
      bytes += part.length
      if (bytes > maxBytes) throw new Error('the answer is too long')
      parts.push(part)
    }
  } catch (error) {
    throw notTheInterpreter(error)
  }
  return Buffer.concat(parts).toString()
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The variables of a sandbox. The guest alone knows them: a command sees them. */
async function variablesOf(sandbox: Sandbox, signal: AbortSignal): Promise<Record<string, string>> {
  const end = await withGuest(sandbox, (link) => {
    const account = accountOf(withTemplateDefaults(sandbox, { user: undefined, cwd: undefined }))
    return runCommand(
      link,
      { argv: ['env', '-0'], ...account },
      { stdin: undefined, maxBytes: MAX_VARIABLES_BYTES, stop: signal },
    )
  })
  if (signal.aborted) throw givenUp()
  const entries = end.stdout.bytes
    .toString()
    .split('\0')
    .map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)] as const)
    .filter(([name]) => VARIABLE.test(name) && !OF_THE_ACCOUNT.has(name))
  return Object.fromEntries(entries)
}

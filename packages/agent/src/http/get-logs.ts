import { Readable } from 'node:stream'
import { ApiError } from '@offshoot/contract/errors'
import { logsQuery, type LogsQuery } from '@offshoot/contract/log'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import { formatLogLine, type LogRecord } from '../store/logs/log-record.ts'
import type { SandboxLog } from '../store/logs/sandbox-log.ts'
import { ownSandbox } from './request/require-credential.ts'
import { formatFrame, sendEventStream } from './streams/send-event-stream.ts'
import { lastEventId, parseQuery } from './request/parse-query.ts'

/** `GET /v1/sandboxes/{id}/logs`: the retained lines as text or JSON, or as a live stream. */
export function getLogs(server: FastifyInstance, { host, stopping }: Agent): void {
  server.get('/v1/sandboxes/:id/logs', { config: { isStatus: true } }, async (request, reply) => {
    const sandbox = ownSandbox(host.sandboxes, request)
    if (sandbox === null) throw new ApiError('sandboxNotFound')
    const query = parseQuery(logsQuery, request)
    const { log } = sandbox
    if (query.follow) {
      const resumed = lastEventId(request)
      const last = await log.settle()
      const first = resumed === undefined ? await firstOf(log, query, last) : resumed + 1
      const frames = async function* framesOf(signal: AbortSignal) {
        for await (const records of log.follow(first - 1, signal)) {
          yield records
            .filter((record) => isWanted(record, query))
            .map(frame)
            .join('')
        }
      }
      return sendEventStream(reply, stopping, frames, first - 1)
    }
    const last = await log.settle()
    const lines = log.read(await firstOf(log, query, last), last)
    const isJson = /\bapplication\/json\b/i.test(request.headers.accept ?? '')
    void reply.type(isJson ? 'application/json; charset=utf-8' : 'text/plain; charset=utf-8')
    return reply.send(Readable.from(isJson ? asJson(lines, query) : asText(lines, query)))
  })
}

type Lines = AsyncIterable<readonly LogRecord[]>

function isWanted({ stream }: LogRecord, query: LogsQuery): boolean {
  return query.stream === 'both' || query.stream === stream
}

/** Number of the first line in the response. For the `tail` of one stream all lines must be read: numbers count both streams. */
async function firstOf(log: SandboxLog, query: LogsQuery, last: number): Promise<number> {
  const { tail, stream } = query
  if (tail === undefined) return 1
  if (tail === 0) return last + 1
  if (stream === 'both') return Math.max(1, last - tail + 1)
  let newest: number[] = []
  for await (const records of log.read(1, last)) {
    newest = [...newest, ...records.filter((record) => isWanted(record, query)).map(({ n }) => n)].slice(-tail)
  }
  return newest[0] ?? last + 1
}

async function* asText(lines: Lines, query: LogsQuery): AsyncGenerator<string> {
  for await (const records of lines) {
    const wanted = records.filter((record) => isWanted(record, query))
    if (wanted.length > 0) yield wanted.map(({ line }) => `${line}\n`).join('')
  }
}

async function* asJson(lines: Lines, query: LogsQuery): AsyncGenerator<string> {
  let before = '['
  for await (const records of lines) {
    const wanted = records.filter((record) => isWanted(record, query))
    if (wanted.length === 0) continue
    yield before + wanted.map(formatLogLine).join(',')
    before = ','
  }
  yield before === '[' ? '[]' : ']'
}

function frame(record: LogRecord): string {
  return formatFrame({ id: record.n, event: 'line', data: formatLogLine(record) })
}

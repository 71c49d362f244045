import { recursiveQuery } from '@offshoot/contract/file'
import type { FileChange } from '@offshoot/guest-link/file-change'
import type { FileWatch } from '@offshoot/guest-link/file-watch'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../../sandbox/agent.ts'
import { childPath, nameFields } from '../../sandbox/files/present-entry.ts'
import { guestDeadline, withGuest } from '../../sandbox/model/guest-access.ts'
import { formatFrame, sendEventStream } from '../streams/send-event-stream.ts'
import { parseQuery } from '../request/parse-query.ts'
import { findTarget } from './find-target.ts'

/** `GET /v1/sandboxes/{id}/fs/watch`: changes in a folder. Once the response has begun, it misses none. */
export function watchFiles(server: FastifyInstance, agent: Agent): void {
  server.get('/v1/sandboxes/:id/fs/watch', { exposeHeadRoute: false }, async (request, reply) => {
    const { sandbox, path, account } = findTarget(agent, request)
    const { recursive } = parseQuery(recursiveQuery, request)
    const opened = await withGuest(sandbox, ({ files }) =>
      files.watch(path, { recursive, ...account, deadline: guestDeadline(`a watch in ${sandbox.id}`) }),
    )
    return sendEventStream(reply, agent.stopping, (signal) => frames(path, opened, signal))
  })
}

async function* frames(folder: Buffer, opened: FileWatch, signal: AbortSignal): AsyncGenerator<string> {
  const close = () => opened.close()
  signal.addEventListener('abort', close, { once: true })
  if (signal.aborted) close()
  let end = 'the directory is gone'
  try {
    for await (const change of opened.changes) yield frame(folder, change)
  } catch {
    end = 'the guest is gone'
  } finally {
    close()
    signal.removeEventListener('abort', close)
  }
  if (!signal.aborted) yield formatFrame({ event: 'error', data: JSON.stringify({ error: end }) })
}

function frame(folder: Buffer, change: FileChange): string {
  if (change.kind === 'overflow') return formatFrame({ event: 'overflow', data: '{}' })
  const data = {
    ...nameFields('path', childPath(folder, change.path)),
    ...(change.kind === 'moved' && nameFields('to', childPath(folder, change.target))),
    is_dir: change.isFolder,
  }
  return formatFrame({ event: change.kind, data: JSON.stringify(data) })
}

import { change } from '@offshoot/contract/change'
import { ApiError } from '@offshoot/contract/errors'
import { FairLimit } from '@offshoot/kit/fair-limit'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { OrgsContext } from '../identity/orgs-context.ts'
import { type Caller, callerOf } from '../../../platform/http/caller.ts'
import { beginEventStream, HEARTBEAT_MS } from '../../../platform/http/event-stream.ts'
import { ChangeStream } from './change-stream.ts'
import { mayRead } from './may-read.ts'

/** Milliseconds after which a stream ends, so that a credential that was revoked does not read on for ever. */
const MAX_STREAM_MS = 3_600_000
/** Streams of one workspace, and of all, in this process. */
const streams = new FairLimit(100, 2_000)

/**
 * `GET /v1/changes`: which objects of the caller's workspace change, as it happens. Of objects that the caller may not
 * read, it says nothing.
 */
export function getChanges(app: FastifyInstance, control: OrgsContext): void {
  app.get('/v1/changes', {
    config: {
      credential: 'key-or-jwt',
      takesQueryToken: true,
      // Each message needs the scope of its kind.
      takesNarrowed: true,
      docs: {
        summary: 'Follow which objects of the workspace change (server-sent events)',
        tag: 'Events',
        status: 200,
        answer: change,
        mediaType: 'text/event-stream',
        errors: ['tooManyRequests'],
      },
    },
    handler: async (request, reply) => {
      const caller = callerOf(request)
      const release = streams.take(caller.workspaceId)
      if (release === null) throw new ApiError('tooManyRequests', { detail: 'too many streams of changes are open' })
      try {
        await followChanges(control, caller, reply)
      } finally {
        release()
      }
      return reply
    },
  })
}

/** Resolves when the stream has ended. */
async function followChanges({ changeFeed, openStreams }: OrgsContext, caller: Caller, reply: FastifyReply) {
  const raw = beginEventStream(reply)
  // The caller has already left.
  if (raw.destroyed) return
  const closed = new Promise<void>((resolve) => raw.once('close', resolve))
  const stream = new ChangeStream(raw)
  const unfollow = changeFeed.follow(caller.workspaceId, (changes) => {
    if (changes === null) stream.missed()
    else stream.changed(changes.filter((each) => mayRead(caller, each)))
  })
  const forget = openStreams.add(() => raw.destroy())
  const heartbeat = setInterval(() => stream.beat(), HEARTBEAT_MS)
  const end = setTimeout(() => raw.end(), MAX_STREAM_MS)
  await closed
  clearInterval(heartbeat)
  clearTimeout(end)
  unfollow()
  forget()
}

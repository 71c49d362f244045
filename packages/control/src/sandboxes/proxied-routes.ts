import { execBody, execEvent } from '@offshoot/contract/exec'
import type { ErrorName } from '@offshoot/contract/errors'
import { terminalQuery } from '@offshoot/contract/terminal'
import type { ProxiedRoute } from '../http/proxy/proxied-route.ts'

const EVENT_STREAM = 'text/event-stream'
/** What every operation inside a guest may be refused with. */
const GUEST_ERRORS = ['notFound', 'sandboxNotRunning', 'sandboxStopped', 'agentUnreachable'] as const
const invalid: readonly ErrorName[] = ['invalidField', ...GUEST_ERRORS]

/** The sandbox operations that the agent answers, one a line: what control must know of them. */
export const proxiedRoutes: readonly ProxiedRoute[] = [
  {
    method: 'POST',
    url: '/v1/sandboxes/:id/exec/stream',
    kind: 'sse',
    needs: 'guest',
    docs: {
      summary: 'Run a command and follow its output',
      tag: 'Commands',
      body: execBody,
      status: 200,
      answer: execEvent,
      mediaType: EVENT_STREAM,
      errors: invalid,
    },
  },
  {
    method: 'GET',
    url: '/v1/sandboxes/:id/exec/ws',
    kind: 'websocket',
    needs: 'guest',
    docs: {
      summary: 'Run many commands on one WebSocket',
      tag: 'Commands',
      status: 101,
      errors: [...GUEST_ERRORS, 'upgradeRequired'],
    },
  },
  {
    method: 'GET',
    url: '/v1/sandboxes/:id/exec/pty',
    kind: 'websocket',
    needs: 'guest',
    docs: {
      summary: 'Open a terminal on a WebSocket',
      tag: 'Commands',
      query: terminalQuery,
      status: 101,
      errors: [...invalid, 'upgradeRequired'],
    },
  },
]

import { event, eventsQuery } from '@offshoot/contract/event'
import {
  backgroundExec,
  followQuery,
  resizeBody,
  signalBody,
  stdinBody,
  waitQuery,
} from '@offshoot/contract/background-exec'
import { execBody, execEvent } from '@offshoot/contract/exec'
import type { ErrorName } from '@offshoot/contract/errors'
import { logLine, logsQuery } from '@offshoot/contract/log'
import { lspQuery } from '@offshoot/contract/lsp'
import { metricsQuery, sandboxMetrics } from '@offshoot/contract/sandbox-metrics'
import { terminalQuery } from '@offshoot/contract/terminal'
import { z } from 'zod'
import type { ProxiedRoute } from '../../fleet/proxy/proxied-route.ts'
import { proxiedCodeRoutes } from './proxied-code-routes.ts'
import { proxiedFileRoutes } from './proxied-file-routes.ts'

const EVENT_STREAM = 'text/event-stream'
/** Errors of every operation inside a guest. */
const GUEST_ERRORS = ['notFound', 'sandboxNotRunning', 'sandboxStopped', 'sandboxMoving', 'agentUnreachable'] as const
const invalid: readonly ErrorName[] = ['invalidField', ...GUEST_ERRORS]
const starting: readonly ErrorName[] = [...invalid, 'tooManyCommands']

/** The sandbox operations that the agent answers, with what control must know about each. */
export const proxiedRoutes: readonly ProxiedRoute[] = [
  ...proxiedFileRoutes,
  ...proxiedCodeRoutes,
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
      errors: starting,
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
      errors: [...starting, 'upgradeRequired'],
    },
  },
  {
    method: 'GET',
    url: '/v1/sandboxes/:id/lsp/:lang',
    kind: 'websocket',
    needs: 'guest',
    docs: {
      summary: 'Talk to a language server on a WebSocket',
      tag: 'Language servers',
      query: lspQuery,
      status: 101,
      errors: [...starting, 'upgradeRequired'],
    },
  },
  {
    method: 'GET',
    url: '/v1/sandboxes/:id/events',
    kind: 'sse',
    needs: 'record',
    docs: {
      summary: 'Read the events of a sandbox, or follow them (server-sent events named ev)',
      tag: 'Events',
      query: eventsQuery,
      status: 200,
      answer: z.array(event),
      also: [{ status: 200, answer: event, mediaType: EVENT_STREAM }],
      errors: ['invalidField', 'notFound', 'agentUnreachable'],
    },
  },
  {
    method: 'GET',
    url: '/v1/sandboxes/:id/logs',
    kind: 'sse',
    needs: 'record',
    docs: {
      summary: 'Read the log of a sandbox as text or JSON, or follow it (server-sent events named line)',
      tag: 'Events',
      query: logsQuery,
      status: 200,
      answer: z.array(logLine),
      also: [
        { status: 200, mediaType: 'text/plain' },
        { status: 200, answer: logLine, mediaType: EVENT_STREAM },
      ],
      errors: ['invalidField', 'notFound', 'agentUnreachable'],
    },
  },
  {
    method: 'GET',
    url: '/v1/sandboxes/:id/metrics',
    kind: 'plain',
    needs: 'record',
    docs: {
      summary: 'What a sandbox uses of CPU, memory, disk and network, now and over the last hour',
      tag: 'Sandboxes',
      query: metricsQuery,
      status: 200,
      answer: sandboxMetrics,
      errors: ['invalidField', 'notFound', 'agentUnreachable'],
    },
  },
  {
    method: 'GET',
    url: '/v1/sandboxes/:id/execs',
    kind: 'plain',
    needs: 'guest',
    docs: {
      summary: 'List background commands',
      tag: 'Commands',
      status: 200,
      answer: z.array(backgroundExec),
      errors: GUEST_ERRORS,
    },
  },
  {
    method: 'GET',
    url: '/v1/sandboxes/:id/execs/:exec_id',
    kind: 'plain',
    needs: 'guest',
    docs: {
      summary: 'One background command',
      tag: 'Commands',
      status: 200,
      answer: backgroundExec,
      errors: GUEST_ERRORS,
    },
  },
  {
    method: 'GET',
    url: '/v1/sandboxes/:id/execs/:exec_id/stream',
    kind: 'sse',
    needs: 'guest',
    docs: {
      summary: 'Follow the output of a background command',
      tag: 'Commands',
      query: followQuery,
      status: 200,
      answer: execEvent,
      mediaType: EVENT_STREAM,
      errors: invalid,
    },
  },
  {
    method: 'POST',
    url: '/v1/sandboxes/:id/execs/:exec_id/signal',
    kind: 'plain',
    needs: 'guest',
    docs: {
      summary: 'Signal a background command',
      tag: 'Commands',
      body: signalBody,
      status: 200,
      answer: backgroundExec,
      errors: invalid,
    },
  },
  {
    method: 'POST',
    url: '/v1/sandboxes/:id/execs/:exec_id/stdin',
    kind: 'plain',
    needs: 'guest',
    docs: {
      summary: 'Give a background command input, or close its input',
      tag: 'Commands',
      body: stdinBody,
      status: 200,
      answer: backgroundExec,
      errors: [...invalid, 'conflict'],
    },
  },
  {
    method: 'POST',
    url: '/v1/sandboxes/:id/execs/:exec_id/resize',
    kind: 'plain',
    needs: 'guest',
    docs: {
      summary: 'Change the size of the terminal of a background command',
      tag: 'Commands',
      body: resizeBody,
      status: 200,
      answer: backgroundExec,
      errors: [...invalid, 'conflict'],
    },
  },
  {
    method: 'GET',
    url: '/v1/sandboxes/:id/execs/:exec_id/wait',
    kind: 'plain',
    needs: 'guest',
    docs: {
      summary: 'Wait for the end of a background command',
      tag: 'Commands',
      query: waitQuery,
      status: 200,
      answer: backgroundExec,
      errors: invalid,
    },
  },
  {
    method: 'DELETE',
    url: '/v1/sandboxes/:id/execs/:exec_id',
    kind: 'plain',
    needs: 'guest',
    docs: {
      summary: 'End a background command and drop its output',
      tag: 'Commands',
      status: 204,
      errors: GUEST_ERRORS,
    },
  },
]

import { codeBody, codeContext, codeEvent, newCodeContext } from '@offshoot/contract/code'
import type { ErrorName } from '@offshoot/contract/errors'
import { z } from 'zod'
import type { ProxiedRoute } from '../../fleet/proxy/proxied-route.ts'

const ERRORS: readonly ErrorName[] = [
  'notFound',
  'sandboxNotRunning',
  'sandboxStopped',
  'sandboxMoving',
  'noCodeInterpreter',
  'tooManyConnections',
  'agentUnreachable',
]
const TAG = 'Code interpreter'
const CONTEXTS = '/v1/sandboxes/:id/code/contexts'

/** Operations of the code interpreter of a sandbox, which the agent asks. */
export const proxiedCodeRoutes: readonly ProxiedRoute[] = [
  {
    method: 'POST',
    url: '/v1/sandboxes/:id/code',
    kind: 'sse',
    needs: 'guest',
    docs: {
      summary: 'Run code in a context that keeps its state, and follow its output and results',
      tag: TAG,
      body: codeBody,
      status: 200,
      answer: codeEvent,
      mediaType: 'text/event-stream',
      errors: ['invalidField', ...ERRORS, 'tooManyCommands', 'commandTimeout'],
    },
  },
  {
    method: 'GET',
    url: CONTEXTS,
    kind: 'plain',
    needs: 'guest',
    docs: { summary: 'List the contexts', tag: TAG, status: 200, answer: z.array(codeContext), errors: ERRORS },
  },
  {
    method: 'POST',
    url: CONTEXTS,
    kind: 'plain',
    needs: 'guest',
    docs: {
      summary: 'Make a context',
      tag: TAG,
      body: newCodeContext,
      status: 201,
      answer: codeContext,
      errors: ['invalidField', ...ERRORS, 'tooManyCommands'],
    },
  },
  {
    method: 'DELETE',
    url: `${CONTEXTS}/:context_id`,
    kind: 'plain',
    needs: 'guest',
    docs: { summary: 'End a context and what runs in it', tag: TAG, status: 204, errors: ERRORS },
  },
  {
    method: 'POST',
    url: `${CONTEXTS}/:context_id/restart`,
    kind: 'plain',
    needs: 'guest',
    docs: {
      summary: 'Start a context anew, without its state',
      tag: TAG,
      status: 200,
      answer: codeContext,
      errors: ERRORS,
    },
  },
  {
    method: 'POST',
    url: `${CONTEXTS}/:context_id/interrupt`,
    kind: 'plain',
    needs: 'guest',
    docs: {
      summary: 'Interrupt the code that runs in a context',
      tag: TAG,
      status: 200,
      answer: codeContext,
      errors: ERRORS,
    },
  },
]

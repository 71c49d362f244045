import { ConnectionError, OffshootError } from '../http/errors.ts'
import type { CodeContext, CodeResult } from '../generated/models.ts'
import { idOf, type Scope } from '../http/scope.ts'
import type { CallOptions } from '../http/transport.ts'
import { CommandTimeoutError } from './exec.ts'

export type CodeLanguage = 'python' | 'javascript' | 'typescript' | 'bash'

export interface RunCodeOptions extends Omit<CallOptions, 'idempotencyKey'> {
  /** Runs in the default context of the language. Default: `python`. */
  readonly language?: CodeLanguage | undefined
  /** Runs in this context instead. */
  readonly context?: CodeContext | string | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Seconds after which the service interrupts the code, with the time in the queue of the context. */
  readonly timeoutSeconds?: number | undefined
  readonly onOutput?: ((chunk: { readonly stream: 'stdout' | 'stderr'; readonly data: string }) => void) | undefined
  /** Called with each result as it arrives. */
  readonly onResult?: ((result: CodeResult) => void) | undefined
}

/** An exception that the code did not catch. */
export interface CodeFailure {
  readonly name: string
  readonly value: string
  readonly traceback: string
}

/** What an execution has left. */
export interface Execution {
  /** Text of the value of the last expression; `null` without one. */
  readonly text: string | null
  readonly results: readonly CodeResult[]
  readonly stdout: string
  readonly stderr: string
  /** `null` if the code succeeded. */
  readonly error: CodeFailure | null
  readonly executionCount: number
  readonly durationMs: number
}

type CodeEventData = Partial<CodeFailure> & {
  readonly chunk?: string
  readonly error?: string
  readonly executionCount?: number
  readonly durationMs?: number
}

/** Runs code in contexts that keep their state. The sandbox must be made from the template `code-interpreter`. */
export class Code {
  readonly #scope: Scope

  /** @internal */
  constructor(scope: Scope) {
    this.#scope = scope
  }

  /** Runs code. An exception in it is part of the result. Aborting the call interrupts the code. */
  async run(code: string, options: RunCodeOptions = {}): Promise<Execution> {
    const { language, context, env, timeoutSeconds, onOutput, onResult, ...call } = options
    const contextId = typeof context === 'object' ? context.id : context
    const output = { stdout: '', stderr: '' }
    const results: CodeResult[] = []
    let error: CodeFailure | null = null
    const events = this.#scope.stream<CodeEventData>('POST /v1/sandboxes/{id}/code', {
      ...call,
      body: { code, language, context_id: contextId, env, timeout_seconds: timeoutSeconds },
    })
    for await (const { event, data } of events) {
      if (event === 'stdout' || event === 'stderr') {
        output[event] += data.chunk ?? ''
        onOutput?.({ stream: event, data: data.chunk ?? '' })
      } else if (event === 'result') {
        const result = data as unknown as CodeResult
        results.push(result)
        onResult?.(result)
      } else if (event === 'error' && data.error !== undefined) {
        const isTimeout = timeoutSeconds !== undefined && /timeout/i.test(data.error)
        throw isTimeout
          ? new CommandTimeoutError(data.error, output.stdout, output.stderr)
          : new OffshootError(data.error)
      } else if (event === 'error') {
        const { name = '', value = '', traceback = '' } = data
        error = { name, value, traceback }
      } else if (event === 'end') {
        const text = results.find(({ isMainResult }) => isMainResult)?.text ?? null
        const { executionCount = 0, durationMs = 0 } = data
        return { text, results, ...output, error, executionCount, durationMs }
      }
    }
    throw new ConnectionError('the connection ended before the code: the service has interrupted it')
  }

  /** The contexts. */
  async contexts(options: CallOptions = {}): Promise<CodeContext[]> {
    return this.#scope.get('GET /v1/sandboxes/{id}/code/contexts', options)
  }

  /** Makes a context with a state of its own. */
  async createContext(
    options: CallOptions & { readonly language?: CodeLanguage; readonly cwd?: string } = {},
  ): Promise<CodeContext> {
    return this.#scope.post('POST /v1/sandboxes/{id}/code/contexts', options)
  }

  /** Ends a context and what runs in it. */
  async deleteContext(context: CodeContext | string, options: CallOptions = {}): Promise<void> {
    await this.#scope.delete('DELETE /v1/sandboxes/{id}/code/contexts/{context_id}', options, { path: pathOf(context) })
  }

  /** Starts a context anew, without its state. */
  async restart(context: CodeContext | string, options: CallOptions = {}): Promise<CodeContext> {
    const path = pathOf(context)
    return this.#scope.call('POST /v1/sandboxes/{id}/code/contexts/{context_id}/restart', { ...options, path })
  }

  /** Stops what runs in a context, like Ctrl-C. */
  async interrupt(context: CodeContext | string, options: CallOptions = {}): Promise<CodeContext> {
    const path = pathOf(context)
    return this.#scope.call('POST /v1/sandboxes/{id}/code/contexts/{context_id}/interrupt', { ...options, path })
  }
}

const pathOf = (context: CodeContext | string) => ({ context_id: idOf(context) })

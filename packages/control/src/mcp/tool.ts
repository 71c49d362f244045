import type { CallToolResult, McpServer, ServerContext, ToolAnnotations } from '@modelcontextprotocol/server'
import type { z } from 'zod'
import { ApiRefused, type OwnApi } from './own-api.ts'

/** What a tool works with during one call. */
export interface ToolCall {
  readonly api: OwnApi
  /** Tells the client how far the call is, if it wants to know. */
  readonly progress: (done: number, message: string) => void
}

type Content = CallToolResult['content'][number]

interface Tool<Input extends z.ZodObject, Output extends z.ZodObject> {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: Input
  readonly output: Output
  readonly annotations: ToolAnnotations
  run(args: z.output<Input>, call: ToolCall): Promise<z.input<Output>>
  /** What a model reads. Default: the result as JSON. */
  readonly show?: (result: z.output<Output>) => Content[]
}

/** A tool whose types are those of its schemas. */
export interface AnyTool {
  readonly name: string
  register(server: McpServer, api: OwnApi): void
}

/** Changes nothing. */
export const READS = { readOnlyHint: true, openWorldHint: false } as const
/** Makes something, or changes it in a way that can be undone. */
export const CHANGES = { readOnlyHint: false, destructiveHint: false, openWorldHint: false } as const
/** Data is lost. A repetition does nothing more. */
export const REMOVES = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: true,
  openWorldHint: false,
} as const
/** Runs what the caller wants. */
export const RUNS = { readOnlyHint: false, destructiveHint: true, openWorldHint: true } as const

/** Milliseconds between two messages about progress. */
const PROGRESS_MS = 500

export function tool<Input extends z.ZodObject, Output extends z.ZodObject>(made: Tool<Input, Output>): AnyTool {
  const { name, title, description, input, output, annotations } = made
  const show = made.show ?? ((result) => [text(JSON.stringify(result))])
  return {
    name,
    register(server, api) {
      const config = {
        title,
        description,
        inputSchema: input as z.ZodObject,
        outputSchema: output as z.ZodObject,
        annotations,
      }
      server.registerTool(name, config, async (args, context): Promise<CallToolResult> => {
        try {
          const ran = await made.run(args as z.output<Input>, { api, progress: progressOf(context) })
          const result = output.parse(ran)
          return { content: show(result), structuredContent: result }
        } catch (error) {
          if (error instanceof ApiRefused) return { isError: true, content: [text(error.message)] }
          throw error
        }
      })
    },
  }
}

export function text(content: string): Content {
  return { type: 'text', text: content }
}

function progressOf({ mcpReq }: ServerContext): ToolCall['progress'] {
  const progressToken = mcpReq._meta?.progressToken
  if (progressToken === undefined) return () => undefined
  let lastMs = 0
  return (progress, message) => {
    if (performance.now() - lastMs < PROGRESS_MS) return
    lastMs = performance.now()
    // The client may have hung up.
    const params = { progressToken, progress, message }
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined)
  }
}

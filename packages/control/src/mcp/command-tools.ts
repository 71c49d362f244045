import { z } from 'zod'
import { KeptOutput } from './kept-output.ts'
import { ApiRefused } from './own-api.ts'
import { sandboxId } from './sandbox-tools.ts'
import { type AnyTool, RUNS, text, tool } from './tool.ts'

/** Characters kept from the end of each output. */
const KEPT_CHARS = 64 * 1024

const payload = z.looseObject({
  chunk: z.string().default(''),
  exit_code: z.int().optional(),
  error: z.string().optional(),
  text: z.string().optional(),
  html: z.string().optional(),
  json: z.unknown().optional(),
  png: z.string().optional(),
  jpeg: z.string().optional(),
  name: z.string().optional(),
  value: z.string().optional(),
  traceback: z.string().optional(),
})

const outputs = {
  stdout: z.string(),
  stderr: z.string(),
  dropped_chars: z.int().describe('Characters in front of stdout and stderr that are left out'),
}

const timeout = z.int().min(1).max(3600).default(120).describe('Seconds until it is ended')

export const commandTools: readonly AnyTool[] = [
  tool({
    name: 'run_command',
    title: 'Run a shell command',
    description: 'Runs a command with sh -c in a sandbox and waits for its end. It gets no input, so it must not ask.',
    input: z.object({
      sandbox_id: sandboxId,
      cmd: z.string().min(1).describe('The command line'),
      cwd: z.string().optional().describe('Absolute path of the working directory'),
      user: z.string().optional().describe('User name, by default root'),
      env: z.record(z.string(), z.string()).optional(),
      timeout_seconds: timeout,
    }),
    output: z.object({ ...outputs, exit_code: z.int() }),
    annotations: RUNS,
    run: async ({ sandbox_id: id, ...json }, { api, progress }) => {
      const kept = { stdout: new KeptOutput(KEPT_CHARS), stderr: new KeptOutput(KEPT_CHARS) }
      for await (const { event, data } of api.events({
        method: 'POST',
        url: `/v1/sandboxes/${id}/exec/stream`,
        json,
      })) {
        const { chunk, exit_code: exitCode, error } = payload.parse(JSON.parse(data))
        if (event === 'error')
          throw new ApiRefused(`${error ?? 'the command broke off'}\n${kept.stdout.end}${kept.stderr.end}`)
        if (event === 'exit') return { ...shownOutputs(kept), exit_code: exitCode ?? -1 }
        if (event !== 'stdout' && event !== 'stderr') continue
        kept[event].add(chunk)
        progress(kept.stdout.length + kept.stderr.length, kept[event].lastLine)
      }
      throw new ApiRefused('the command broke off')
    },
    show: ({ stdout, stderr, exit_code: code, dropped_chars: dropped }) => [
      text(
        [
          ...(dropped > 0 ? [`(${dropped} characters left out)`] : []),
          ...(stdout === '' ? [] : [stdout]),
          ...(stderr === '' ? [] : [`stderr:\n${stderr}`]),
          `exit code ${code}`,
        ].join('\n'),
      ),
    ],
  }),
  tool({
    name: 'run_code',
    title: 'Run code',
    description:
      'Runs code in a sandbox of the template code-interpreter. Variables stay from call to call. Returns the value of the last expression, tables and charts.',
    input: z.object({
      sandbox_id: sandboxId,
      code: z.string().min(1),
      language: z.enum(['python', 'javascript', 'typescript', 'bash']).default('python'),
      timeout_seconds: timeout,
    }),
    output: z.object({
      ...outputs,
      results: z.array(z.object({ text: z.string().optional(), json: z.unknown().optional() })),
      error: z.object({ name: z.string(), value: z.string(), traceback: z.string() }).nullable(),
      images: z.array(z.object({ mime_type: z.string(), data: z.string() })).describe('base64'),
    }),
    annotations: RUNS,
    run: async ({ sandbox_id: id, ...json }, { api, progress }) => {
      const kept = { stdout: new KeptOutput(KEPT_CHARS), stderr: new KeptOutput(KEPT_CHARS) }
      const results: { text?: string | undefined; json?: unknown }[] = []
      const images: { mime_type: string; data: string }[] = []
      let raised: { name: string; value: string; traceback: string } | null = null
      for await (const { event, data } of api.events({ method: 'POST', url: `/v1/sandboxes/${id}/code`, json })) {
        const found = payload.parse(JSON.parse(data))
        const { name = '', value = '', traceback = '' } = found
        if (event === 'error' && found.error !== undefined) throw new ApiRefused(found.error)
        if (event === 'error') raised = { name, value, traceback }
        if (event === 'result') {
          results.push({ text: found.text ?? found.html, ...(found.json !== undefined && { json: found.json }) })
          if (found.png !== undefined) images.push({ mime_type: 'image/png', data: found.png })
          if (found.jpeg !== undefined) images.push({ mime_type: 'image/jpeg', data: found.jpeg })
        }
        if (event === 'stdout' || event === 'stderr') {
          kept[event].add(found.chunk)
          progress(kept.stdout.length + kept.stderr.length, kept[event].lastLine)
        }
        if (event === 'end') return { ...shownOutputs(kept), results, images, error: raised }
      }
      throw new ApiRefused('the code broke off')
    },
    show: ({ stdout, stderr, results, images, error }) => [
      text(
        [
          ...(stdout === '' ? [] : [stdout]),
          ...(stderr === '' ? [] : [`stderr:\n${stderr}`]),
          ...results.flatMap((result) => (result.text === undefined ? [] : [result.text])),
          ...(error === null ? [] : [error.traceback || `${error.name}: ${error.value}`]),
        ].join('\n') || 'done',
      ),
      ...images.map(({ mime_type: mimeType, data }) => ({ type: 'image' as const, mimeType, data })),
    ],
  }),
]

function shownOutputs({ stdout, stderr }: Readonly<Record<'stdout' | 'stderr', KeptOutput>>) {
  return { stdout: stdout.end, stderr: stderr.end, dropped_chars: stdout.dropped + stderr.dropped }
}

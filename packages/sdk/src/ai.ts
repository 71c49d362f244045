/**
 * Tools for agents of the AI SDK (the npm package `ai`). They use one sandbox, which the caller makes and deletes:
 *
 *     await using sandbox = await Offshoot.create({ template: 'base' })
 *     await generateText({ model, prompt, tools: sandboxTools(sandbox), stopWhen: isStepCount(20) })
 */
import { type Tool, tool } from 'ai'
import { z } from 'zod/v4'
import { explore } from './explore.ts'
import type { CallOptions } from './http/transport.ts'
import type { CodeLanguage } from './sandboxes/code.ts'
import { CommandTimeoutError } from './sandboxes/exec.ts'
import type { FileOptions } from './sandboxes/files.ts'
import type { Sandbox } from './sandboxes/sandbox.ts'

export interface SandboxToolsOptions {
  /** User of commands and files. Default: `root`. Code runs as the user of the code interpreter. */
  readonly user?: string | undefined
  /** Absolute path of the folder in which commands run. Default: the home of the user. */
  readonly cwd?: string | undefined
  /** Seconds after which the service kills a command or interrupts code. Default: 120. */
  readonly timeoutSeconds?: number | undefined
  /** Characters that the model gets of each output (its end), and bytes of a file. Default: 32 Ki. */
  readonly maxChars?: number | undefined
  /** Whether the model may run code in the code interpreter. Default: whether the template is `code-interpreter`. */
  readonly code?: boolean | undefined
  /** Commands that the model may try in one call, each in a fork of its own. Default: 8. */
  readonly maxForks?: number | undefined
}

/** What a model gets of a command. */
export interface CommandOutput {
  readonly stdout: string
  readonly stderr: string
  /** `null`: the service killed the command because its time was over. */
  readonly exitCode: number | null
  /** Characters that are missing at the beginning of both outputs together. */
  readonly droppedChars: number
}

/** What became of a command that was tried in a fork. */
export type Attempt =
  | ({ readonly command: string; readonly succeeded: boolean } & CommandOutput)
  | { readonly command: string; readonly succeeded: false; readonly error: string }

/** What a model gets of a part of a file. */
export interface FilePart {
  readonly content: string
  readonly fileBytes: number
  /** Where to read on; `null` at the end of the file. */
  readonly nextOffset: number | null
}

/** What a model gets of code that ran. */
export interface CodeOutput extends Omit<CommandOutput, 'exitCode'> {
  /** Text of the value of the last expression; `null` without one. */
  readonly result: string | null
  /** The traceback of an exception; `null` if the code succeeded. */
  readonly error: string | null
}

/** The tools by the names that the model sees. */
export type SandboxTools = {
  runCommand: Tool<{ command: string; stdin?: string | undefined }, CommandOutput>
  readFile: Tool<{ path: string; offset?: number | undefined }, FilePart>
  writeFile: Tool<{ path: string; content: string }, { bytes: number }>
  listFolder: Tool<{ path: string }, { name: string; isFolder: boolean; bytes: number }[]>
  tryCommands: Tool<{ commands: string[]; check?: string | undefined }, Attempt[]>
  runCode?: Tool<{ code: string; language: CodeLanguage }, CodeOutput>
}

const DEFAULT_TIMEOUT_SECONDS = 120
const DEFAULT_MAX_CHARS = 32 * 1024
const DEFAULT_MAX_FORKS = 8

const path = z.string().startsWith('/').describe('Absolute path')
const shellCommand = z.string().min(1).describe('Command for sh')

/** Tools that use a sandbox. A failing command is a result; what the service refuses is an error of the tool. */
export function sandboxTools(sandbox: Sandbox, options: SandboxToolsOptions = {}): SandboxTools {
  const { user, maxChars = DEFAULT_MAX_CHARS, code = sandbox.info.template === 'code-interpreter' } = options
  return {
    runCommand: tool({
      description: 'Runs a shell command in the sandbox, a Linux machine, and waits for its end.',
      inputSchema: z.object({ command: shellCommand, stdin: z.string().optional() }),
      execute: async ({ command, stdin }, { abortSignal }) =>
        runCommand(sandbox, command, options, { signal: abortSignal, stdin }),
    }),
    readFile: tool({
      description: 'Reads a text file of the sandbox. A long file is cut: read on with `offset`.',
      inputSchema: z.object({ path, offset: z.number().int().min(0).optional().describe('First byte') }),
      execute: async ({ path: file, offset = 0 }, { abortSignal: signal }) =>
        readPart(sandbox, file, offset, maxChars, { user, signal }),
    }),
    writeFile: tool({
      description: 'Writes a text file of the sandbox, with the folders above it. Replaces what is there.',
      inputSchema: z.object({ path, content: z.string() }),
      execute: async ({ path: file, content }, { abortSignal: signal }) => {
        const { bytes } = await sandbox.files.write(file, content, { user, signal })
        return { bytes }
      },
    }),
    listFolder: tool({
      description: 'Lists a folder of the sandbox.',
      inputSchema: z.object({ path }),
      execute: async ({ path: folder }, { abortSignal: signal }) => {
        const entries = await sandbox.files.list(folder, { user, signal })
        return entries.map(({ name, isDir, size }) => ({ name, isFolder: isDir, bytes: size }))
      },
    }),
    tryCommands: tryCommandsTool(sandbox, options),
    ...(code && { runCode: runCodeTool(sandbox, options) }),
  }
}

async function readPart(
  sandbox: Sandbox,
  file: string,
  offset: number,
  maxBytes: number,
  options: FileOptions,
): Promise<FilePart> {
  const { size: fileBytes } = await sandbox.files.stat(file, options)
  // The service refuses a range behind the end.
  if (offset >= fileBytes) return { content: '', fileBytes, nextOffset: null }
  const bytes = await sandbox.files.readBytes(file, { ...options, offset, length: maxBytes })
  const isEnd = offset + bytes.length >= fileBytes
  const whole = isEnd ? bytes : bytes.subarray(0, startOfLastCharacter(bytes))
  return { content: new TextDecoder().decode(whole), fileBytes, nextOffset: isEnd ? null : offset + whole.length }
}

/** In UTF-8, bytes within a character begin with the bits 10. A file that is no text is cut where it is. */
function startOfLastCharacter(bytes: Uint8Array): number {
  let last = bytes.length - 1
  while (last > 0 && (bytes[last] ?? 0) >> 6 === 0b10) last--
  return last <= 0 ? bytes.length : last
}

async function runCommand(
  sandbox: Sandbox,
  command: string,
  { user, cwd, maxChars = DEFAULT_MAX_CHARS, timeoutSeconds = DEFAULT_TIMEOUT_SECONDS }: SandboxToolsOptions,
  call: CallOptions & { readonly stdin?: string | undefined },
): Promise<CommandOutput> {
  try {
    const { stdout, stderr, exitCode } = await sandbox.exec(command, { ...call, user, cwd, timeoutSeconds })
    return { ...endsOf({ stdout, stderr }, maxChars), exitCode }
  } catch (error) {
    if (!(error instanceof CommandTimeoutError)) throw error
    const { stdout, stderr } = error
    return { ...endsOf({ stdout, stderr }, maxChars), exitCode: null }
  }
}

function endsOf({ stdout, stderr }: { stdout: string; stderr: string }, maxChars: number) {
  const end = (text: string) => (text.length > maxChars ? text.slice(-maxChars) : text)
  const ends = { stdout: end(stdout), stderr: end(stderr) }
  const droppedChars = stdout.length + stderr.length - ends.stdout.length - ends.stderr.length
  return { ...ends, droppedChars }
}

/** The thing that only forking gives: the model tries several ideas on the same state, and none of them changes it. */
function tryCommandsTool(sandbox: Sandbox, options: SandboxToolsOptions): SandboxTools['tryCommands'] {
  const { maxForks = DEFAULT_MAX_FORKS } = options
  return tool({
    description:
      'Tries shell commands, each in its own copy of the sandbox with its processes and files. The sandbox itself ' +
      'does not change, and the copies are deleted: run the command that succeeded with runCommand.',
    inputSchema: z.object({
      commands: z.array(shellCommand).min(1).max(maxForks),
      check: shellCommand.optional().describe('Runs after each command that exits with 0, and decides its success'),
    }),
    execute: async ({ commands, check }, { abortSignal: signal }): Promise<Attempt[]> => {
      const tried = await explore(
        sandbox,
        commands.map((command, index) => ({
          name: String(index),
          run: async (fork: Sandbox, ended: AbortSignal) => {
            const output = await runCommand(fork, command, options, { signal: ended })
            return check === undefined || output.exitCode !== 0
              ? output
              : runCommand(fork, check, options, { signal: ended })
          },
        })),
        // No winner: all forks are deleted.
        { score: () => null, signal },
      )
      return tried.branches.map((branch, index): Attempt => {
        const command = commands[index] ?? ''
        if (branch.outcome === 'scored') return { command, succeeded: branch.value.exitCode === 0, ...branch.value }
        const error = branch.outcome === 'failed' ? String(branch.error) : branch.outcome
        return { command, succeeded: false, error }
      })
    },
  })
}

function runCodeTool(sandbox: Sandbox, options: SandboxToolsOptions): NonNullable<SandboxTools['runCode']> {
  const { maxChars = DEFAULT_MAX_CHARS, timeoutSeconds = DEFAULT_TIMEOUT_SECONDS } = options
  return tool({
    description: 'Runs code in the sandbox. Variables stay for the next call. Gives the value of the last expression.',
    inputSchema: z.object({
      code: z.string().min(1),
      language: z.enum(['python', 'javascript', 'typescript', 'bash']).default('python'),
    }),
    execute: async ({ code, language }, { abortSignal: signal }) => {
      const { text, error, stdout, stderr } = await sandbox.code.run(code, { language, timeoutSeconds, signal })
      return { result: text, error: error?.traceback ?? null, ...endsOf({ stdout, stderr }, maxChars) }
    },
  })
}

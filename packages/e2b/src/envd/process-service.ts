import { Code, ConnectError, type HandlerContext, type ServiceImpl } from '@connectrpc/connect'
import { type BackgroundExec, backgroundExec } from '@offshoot/contract/background-exec'
import { z } from 'zod'
import { ControlRefused } from '../control/control-failure.ts'
import {
  type Process,
  type ProcessInput,
  type ProcessSelector,
  Signal,
  type StartRequest,
} from '../generated/process/process_pb.js'
import { callOf, type EnvdCall, userOf } from './call.ts'
import { parseCommandLine } from './command-line.ts'
import { followOutput, startProcess } from './follow-output.ts'
import { asRpc, asRpcStream } from './rpc-failure.ts'

/** Of a command of ours. */
const MAX_TIMEOUT_SECONDS = 86_400

const SIGNALS: Readonly<Record<number, string>> = { [Signal.SIGTERM]: 'SIGTERM', [Signal.SIGKILL]: 'SIGKILL' }

/** Processes of E2B's clients are background commands of ours. */
export const processService: ServiceImpl<typeof Process> = {
  list: (_request, context) =>
    asRpc(async () => {
      const running = (await listCommands(callOf(context))).filter(({ status }) => status === 'running')
      return {
        processes: running.map(({ pid, cmd: line }) => {
          const [cmd = '', ...args] = parseCommandLine(line)
          return { pid, config: { cmd, args, envs: {} } }
        }),
      }
    }),

  async *start(request, context) {
    const call = callOf(context)
    const json = await asRpc(async () => commandOf(call, request, context))
    const events = startProcess(call, json, request.pty !== undefined, context)
    for await (const event of asRpcStream(call, events)) yield { event }
  },

  async *connect({ process }, context) {
    const call = callOf(context)
    const { pid, output_bytes: offset, is_pty: isPty } = await asRpc(() => findRunning(call, process))
    const events = followOutput(call, { pid, offset, isPty }, context)
    for await (const event of asRpcStream(call, events)) yield { event }
  },

  update: ({ process, pty }, context) =>
    asRpc(async () => {
      const call = callOf(context)
      const { pid } = await findRunning(call, process)
      const { size } = pty ?? {}
      if (size === undefined) return {}
      const json = { rows: size.rows, cols: size.cols }
      await call.control.send(call.request('POST', `/execs/${pid}/resize`, { json }))
      return {}
    }),

  sendInput: ({ process, input }, context) =>
    asRpc(async () => {
      const call = callOf(context)
      await sendInput(call, await findRunning(call, process), input)
      return {}
    }),

  streamInput: (requests, context) =>
    asRpc(async () => {
      const call = callOf(context)
      let target: Command | null = null
      for await (const { event } of requests) {
        if (event.case === 'start') target = await findRunning(call, event.value.process)
        if (event.case !== 'data') continue
        if (target === null) throw new ConnectError('the first message must name a process', Code.InvalidArgument)
        await sendInput(call, target, event.value.input)
      }
      return {}
    }),

  sendSignal: ({ process, signal }, context) =>
    asRpc(async () => {
      const call = callOf(context)
      const name = SIGNALS[signal]
      if (name === undefined) throw new ConnectError('signal must be SIGTERM or SIGKILL', Code.InvalidArgument)
      const { pid } = await findRunning(call, process)
      await call.control.send(call.request('POST', `/execs/${pid}/signal`, { json: { signal: name } }))
      return {}
    }),

  closeStdin: ({ process }, context) =>
    asRpc(async () => {
      const call = callOf(context)
      const { pid, is_pty: isPty } = await findRunning(call, process)
      if (isPty) throw new ConnectError('a terminal has no end of input', Code.FailedPrecondition)
      await call.control.send(call.request('POST', `/execs/${pid}/stdin`, { json: { eof: true } }))
      return {}
    }),
}

type Command = BackgroundExec

function listCommands(call: EnvdCall): Promise<Command[]> {
  return call.control.read(z.array(backgroundExec), call.request('GET', '/execs'))
}

/** @throws {ConnectError} NotFound also for a process that has ended */
async function findRunning(call: EnvdCall, selected: ProcessSelector | undefined): Promise<Command> {
  const name = selected?.selector.value
  // Processes are not named by tags, which no published client sets.
  const found = typeof name === 'number' ? await findByPid(call, name) : undefined
  if (found?.status === 'running') return found
  throw new ConnectError(`process ${name ?? ''} not found`, Code.NotFound)
}

async function findByPid(call: EnvdCall, pid: number): Promise<Command | undefined> {
  try {
    return await call.control.read(backgroundExec, call.request('GET', `/execs/${pid}`))
  } catch (error) {
    if (error instanceof ControlRefused && error.status === 404) return undefined
    throw error
  }
}

/** The body of `POST exec/stream`. */
function commandOf(call: EnvdCall, { process, pty, stdin }: StartRequest, context: HandlerContext) {
  if (process === undefined) throw new ConnectError('process is required', Code.InvalidArgument)
  const { size } = pty ?? {}
  return {
    argv: [process.cmd, ...process.args],
    env: { ...call.env, ...process.envs },
    ...(process.cwd && { cwd: process.cwd }),
    user: userOf(context.requestHeader.get('authorization')),
    ...timeLimitOf(context),
    background: true,
    encoding: 'base64',
    backpressure: true,
    // Early clients do not say, and always write.
    ...(size === undefined ? { stdin_open: stdin ?? true } : { pty: { rows: size.rows || 24, cols: size.cols || 80 } }),
  }
}

/** The process ends at the call's time limit even if the client has hung up. The client reports the limit itself. */
function timeLimitOf(context: HandlerContext): { timeout_seconds?: number } {
  const ms = context.timeoutMs()
  return ms === undefined ? {} : { timeout_seconds: Math.min(Math.ceil(ms / 1000) + 1, MAX_TIMEOUT_SECONDS) }
}

async function sendInput(
  call: EnvdCall,
  { pid, is_pty: isPty }: Command,
  input: ProcessInput | undefined,
): Promise<void> {
  const given = input?.input
  if (given?.case === undefined) return
  if ((given.case === 'pty') !== isPty) {
    throw new ConnectError(`the process has ${isPty ? 'a' : 'no'} terminal`, Code.FailedPrecondition)
  }
  const json = { stdin: Buffer.from(given.value).toString('base64'), encoding: 'base64' }
  await call.control.send(call.request('POST', `/execs/${pid}/stdin`, { json }))
}

/** What every start of services needs, whether they are all of them or a host's agent alone. */
import { setTimeout as delay } from 'node:timers/promises'
import { identifyProcess } from '@offshoot/kit/process-identity'
import type { DataLayout } from './base/data-layout.ts'
import { NODE_OPTIONS } from './base/node-options.ts'
import { SetupFailure } from './base/setup-failure.ts'
import { AGENT_LISTEN_FD } from './config/configuration.ts'
import { OWN_PROGRAM } from './handover.ts'
import { isListening } from './host/is-listening.ts'
import { bundledProgram } from './images/services.ts'
import type { GuestNamespace } from './rootless/guest-namespace.ts'
import { RunningRecord, type Ports } from './services/running-record.ts'
import { Supervisor, type Service } from './services/supervisor.ts'

/** A supervisor that keeps the record of its processes. */
export function supervise({ logs }: DataLayout, record: RunningRecord): Supervisor {
  return new Supervisor(logs, {
    started: (name, process) => record.started(name, process).catch(tellUnrecorded),
    ended: (name) => record.ended(name).catch(tellUnrecorded),
    restarting: (name, how, delayMs) => tell(`${name} ended (${how}); starting it again in ${delayMs} ms`),
  })
}

/** Rejects when a service could not be started. @throws {SetupFailure} */
export async function givingUp({ logs }: DataLayout, supervisor: Supervisor): Promise<never> {
  const name = await supervisor.gaveUp
  throw new SetupFailure(`${name} could not be started; the reason is in ${logs}/${name}.log.`)
}

/**
 * On a full disk the record may be outdated. Services still run, and a later supervisor also finds them by their
 * command lines.
 */
function tellUnrecorded(error: Error): void {
  tell(`up.json is not up to date: ${error.message}`)
}

/** Standard error may be a file on the full disk. */
export function tell(line: string): void {
  try {
    process.stderr.write(`${line}\n`)
  } catch {
    // There is no other place to report it.
  }
}

export async function startRecord(layout: DataLayout, ports: Ports): Promise<RunningRecord> {
  const self = await identifyProcess(process.pid)
  if (self === null) throw new Error('this process is not in /proc')
  return RunningRecord.create(layout.runningRecord, self, OWN_PROGRAM, ports)
}

export function nodeService(
  { imagesDir, ...layout }: DataLayout,
  name: 'agent' | 'control' | 'edge' | 'e2b',
  port: number,
): Service {
  const config = layout[`${name}Config`]
  const args = [...NODE_OPTIONS, bundledProgram(imagesDir, name), config]
  return { name, file: process.execPath, args, cwd: '/', isReady: (pid) => isListening(pid, port) }
}

/** @param guests where the agent runs without root; `null` for root. @param host at which it listens */
export function agentService(
  layout: DataLayout,
  guests: GuestNamespace | null,
  { host, port }: { readonly host: string; readonly port: number },
): Service {
  const agent = nodeService(layout, 'agent', port)
  if (guests === null) return agent
  // The agent's socket is one of the host's network, where control and the edge are.
  const listener = [`${layout.imagesDir}/with-listener`, host, String(port), String(AGENT_LISTEN_FD)]
  return { ...agent, under: async () => [...listener, ...(await guests.entering())] }
}

export async function aborted(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) await delay(2 ** 30, undefined, { signal }).catch(() => undefined)
}

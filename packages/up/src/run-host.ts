import { isIPv6 } from 'node:net'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { setTimeout as delay } from 'node:timers/promises'
import { Deadline } from '@offshoot/kit/deadline'
import type { UpArguments } from './base/arguments.ts'
import type { DataLayout } from './base/data-layout.ts'
import { joinedAgentConfiguration } from './config/configuration.ts'
import { settleHandover } from './handover.ts'
import { isListening } from './host/is-listening.ts'
import { buildImages } from './images/build-images.ts'
import { Progress } from './images/progress.ts'
import type { Step } from './images/step.ts'
import { hostFiles, type Membership } from './join/membership.ts'
import { keepCertificate } from './join/renew.ts'
import { prepareAgent } from './prepare-agent.ts'
import { GuestNamespace } from './rootless/guest-namespace.ts'
import { isRootless } from './rootless/requirements.ts'
import type { Ports } from './services/running-record.ts'
import { STOP_ORDER } from './services/stopping.ts'
import { aborted, agentService, givingUp, startRecord, supervise, tell } from './supervised.ts'

/** Milliseconds for the agent to listen. */
const LISTENS_WITHIN_MS = 120_000
const POLL_MS = 50

export interface RunHost {
  readonly args: UpArguments
  readonly layout: DataLayout
  /** Steps that build the images. */
  readonly steps: readonly Step[]
  readonly member: Membership
  readonly stop: AbortSignal
  readonly hurry: AbortSignal
}

/**
 * Runs the agent of a host that has joined a fleet, and renews the host's certificate, until `stop` aborts. VMs stay.
 * With the command `prepare` it returns before the agent starts.
 * @throws {SetupFailure}
 */
export async function runHost({ args, layout, steps, member, stop, hurry }: RunHost): Promise<void> {
  const record = await startRecord(layout, portsOf(member))
  const supervisor = supervise(layout, record)
  const givenUp = givingUp(layout, supervisor)
  const renewing = keepCertificate(layout, member, tell, stop)
  let guests: GuestNamespace | null = null
  try {
    guests = isRootless() ? await GuestNamespace.open(layout, stop) : null
    const progress = new Progress([...steps.map((step) => step.name), 'bakes'])
    await buildImages(layout.imagesDir, steps, progress, stop)
    const config = joinedAgentConfiguration({ args, layout, isRootless: guests !== null }, member, hostFiles(layout))
    await writeFileDurably(layout.agentConfig, `${JSON.stringify(config, null, 2)}\n`)
    const report = (line: string) => progress.say('bakes', line)
    const under = (await guests?.entering()) ?? []
    await prepareAgent({ layout, report, cancelled: stop, patience: args.kvm?.patience, under })
    if (args.command === 'prepare') return
    await guests?.connect(tell)
    supervisor.start(agentService(layout, guests, config.listen))
    const listening = untilListening(() => supervisor.running('agent')?.pid, member.port, stop)
    await Promise.race([givenUp, listening])
    await settleHandover(layout)
    const place = `https://${isIPv6(member.host) ? `[${member.host}]` : member.host}:${member.port}`
    process.stdout.write(`ready ${place}\n# host ${member.host_id} of ${member.control_url}\n`)
    await Promise.race([givenUp, aborted(stop)])
    tell('Stopping the agent. Sandboxes stay, and the next start adopts them.')
  } finally {
    givenUp.catch(() => undefined)
    guests?.stopWatching()
    await supervisor.stop(STOP_ORDER, hurry)
    await renewing
    if (args.command === 'prepare') await guests?.endIfUnused()
  }
}

/** A host has no other services, so the record names no ports of them. */
function portsOf({ port }: Membership): Ports {
  return { agent: port, control: 0, edge: 0, databases: 0, e2b: 0, ssh: 0, postgres: 0 }
}

async function untilListening(pid: () => number | undefined, port: number, stop: AbortSignal): Promise<void> {
  const deadline = Deadline.after(LISTENS_WITHIN_MS, 'the agent to listen', stop)
  for (;;) {
    const running = pid()
    if (running !== undefined && (await isListening(running, port))) return
    deadline.throwIfOver()
    await delay(POLL_MS)
  }
}

import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { TAP_FD } from '@offshoot/agent/machine/vm/machine'
import { Deadline } from '@offshoot/kit/deadline'
import type { Offshoot } from '../tests/setup/offshoot.ts'
import { releaseBaselineTap, takeBaselineTap } from './baseline-tap.ts'
import { BaselineVm } from './baseline-vm.ts'
import { hold } from './cleanup.ts'
import { type Figure, rounds, Samples } from './measure.ts'
import { recipeOf } from './sandbox-benches.ts'
import { TEST_HOST_URL, TestHost } from './test-host.ts'

const run = promisify(execFile)
const REFRESH_MS = 30_000

/**
 * The network's share of a create has two parts: QEMU starts through the program that opens its TAP, and the guest
 * configures its address. Both are measured with and without the network, alternately. The figure is the sum of the
 * differences.
 */
export async function networkSetup(offshoot: Offshoot, n = 40): Promise<Record<string, Figure>> {
  const recipe = await recipeOf(offshoot)
  if (recipe.withTap === null) throw new Error('this host gives no TAPs')
  const { withTap } = recipe
  const [plain, through, without, within] = [new Samples(), new Samples(), new Samples(), new Samples()]
  const tap = takeBaselineTap()
  const vm = await BaselineVm.running(recipe)
  try {
    for (const round of rounds(n)) {
      await plain.time(() => run('/bin/true'))
      await through.time(() => run(withTap, [tap, String(TAP_FD), '/bin/true']))
      await without.time(() => refresh(vm, null))
      await within.time(() => refresh(vm, round))
    }
  } finally {
    await vm.kill()
    releaseBaselineTap(tap)
  }
  const added = new Samples()
  for (const [index, value] of through.values.entries()) {
    added.add(value - plain.p50 + (within.values[index] ?? within.p50) - without.p50)
  }
  return { net_setup_ms: added.figure('ms') }
}

/** @param number of the network that the guest joins; `null`: no change */
async function refresh(vm: BaselineVm, number: number | null): Promise<void> {
  const identity = {
    time: new Date(),
    hostname: 'bench',
    machineId: randomBytes(16).toString('hex'),
    entropy: randomBytes(64),
    mac: '02:0f:f5:00:00:01',
    env: 'keep',
  } as const
  const network = `10.213.${(number ?? 0) % 250}`
  const address = { ip: `${network}.2`, gateway: `${network}.1`, prefixBits: 30, mtu: 1400 }
  const deadline = Deadline.after(REFRESH_MS, 'refresh of a baseline VM')
  await vm.link.refresh(number === null ? identity : { ...identity, address }, deadline).settled
}

const CURL = ['-s', '-o', '/dev/null', '-w', '%{time_total}\\n', TEST_HOST_URL]

function millisecondsIn(text: string): number {
  return Number(text.trim()) * 1000
}

/** A small GET from a guest through its TAP and NAT to a server on a test host. Floor: the same from the host. */
export async function guestHttpGet(offshoot: Offshoot, n = 40): Promise<Record<string, Figure>> {
  const server = await TestHost.start()
  const release = hold(async () => server.stop())
  const { id } = await offshoot.create({ template: 'base' })
  const [guest, host] = [new Samples(), new Samples()]
  try {
    for (const _round of rounds(n)) {
      guest.add(
        millisecondsIn((await offshoot.exec(id, ['curl', ...CURL].map((word) => `'${word}'`).join(' '))).stdout),
      )
      host.add(millisecondsIn((await run('curl', CURL)).stdout))
    }
  } finally {
    await offshoot.delete(id)
    await release()
  }
  return { guest_http_get: guest.figure('ms', host.p50) }
}

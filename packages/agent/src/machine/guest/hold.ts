import { GuestRequestError } from '@offshoot/guest-link/guest-link-error'
import type { Deadline } from '@offshoot/kit/deadline'
import { guestEntropy } from './guest-identity.ts'
import type { Vm } from '../vm/vm.ts'

/** Milliseconds for a guest to hold its processes, and to release them. */
const ANSWER_MS = 30_000
/** Milliseconds to wait for a hold before stopping the CPUs without it. */
const HOLD_MS = 2000

/**
 * Stops a running guest. None of its processes runs an instruction before {@link continueReleased}, neither in this VM nor in
 * a VM restored from its checkpoint. So no process ever sees the stale clock.
 */
export async function stopHeld(vm: Vm, deadline: Deadline): Promise<void> {
  const answer = deadline.within(ANSWER_MS, 'hold of a guest')
  const link = await vm.link(answer)
  // Before the hold: the guest answers in order, so everything sent earlier has arrived when it answers.
  link.queueRequests()
  await link.hold(answer)
  await vm.qmp.execute('stop', {}, deadline)
}

/** Stops the CPUs of a VM, even if its guest does not hold its processes. Afterwards the link refuses all requests. */
export async function stopVm(vm: Vm, deadline: Deadline): Promise<void> {
  try {
    await stopHeld(vm, deadline.within(HOLD_MS, 'hold of a guest'))
  } catch {
    await vm.qmp.execute('stop', {}, deadline)
  }
  vm.refuse()
}

/**
 * Continues the CPUs of a VM and releases the guest's processes with the current time. Sends both at once: the release waits
 * in the guest's queue until its CPUs run.
 */
export async function continueReleased(vm: Vm, deadline: Deadline): Promise<void> {
  const answer = deadline.within(ANSWER_MS, 'release of a guest')
  await Promise.all([vm.qmp.execute('cont', {}, deadline), releaseGuest(vm, answer)])
}

/**
 * Releases the processes of a guest that never stood still, if it holds them. If it does not, its clock is left as it is: that
 * has gone on by itself, and the host's may be wrong just now, or have been put right by a step.
 */
export async function releaseIfHeld(vm: Vm, deadline: Deadline): Promise<void> {
  const answer = deadline.within(ANSWER_MS, 'release of a guest')
  const link = await vm.link(answer)
  const isFree = await link.ports.listeners(answer).then(
    () => true,
    (error: unknown) => {
      // A guest that holds its processes refuses the request. One of an earlier version does not know it.
      if (error instanceof GuestRequestError) return false
      throw error
    },
  )
  if (!isFree) await releaseGuest(vm, answer)
}

/** Releases the processes of a restored guest, which keeps its identity. */
export async function releaseGuest(vm: Vm, deadline: Deadline): Promise<void> {
  const link = await vm.link(deadline)
  await link.release({ time: new Date(), entropy: guestEntropy() }, deadline)
}

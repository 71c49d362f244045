import type { Deadline } from '@offshoot/kit/deadline'
import { guestEntropy } from './guest-identity.ts'
import type { Vm } from '../vm/vm.ts'

/** Milliseconds for a guest to hold its processes, and to let them go. */
const ANSWER_MS = 30_000
/** Milliseconds for a guest that is stopped in any case to hold its processes first. */
const HOLD_MS = 2000

/**
 * Stops a running guest so that none of its processes runs an instruction before {@link continueReleased}, in this VM
 * and in whatever is restored from a checkpoint of it: a clock that is behind is seen by nobody.
 */
export async function stopHeld(vm: Vm, deadline: Deadline): Promise<void> {
  const answer = deadline.within(ANSWER_MS, 'hold of a guest')
  const link = await vm.link(answer)
  // First: what was sent has then arrived when the guest has answered.
  link.queueRequests()
  await link.hold(answer)
  await vm.qmp.execute('stop', {}, deadline)
}

/** Stops the CPUs of a VM, also of one whose guest does not hold its processes. Nobody can ask the guest anything afterwards. */
export async function stopVm(vm: Vm, deadline: Deadline): Promise<void> {
  try {
    await stopHeld(vm, deadline.within(HOLD_MS, 'hold of a guest'))
  } catch {
    await vm.qmp.execute('stop', {}, deadline)
  }
  vm.refuse()
}

/**
 * Lets a guest go on, with the time of now. One that runs already is only released. Both are said at once: what the guest
 * is told waits in its queue until its CPUs run.
 */
export async function continueReleased(vm: Vm, deadline: Deadline): Promise<void> {
  const answer = deadline.within(ANSWER_MS, 'release of a guest')
  await Promise.all([vm.qmp.execute('cont', {}, deadline), releaseGuest(vm, answer)])
}

/** Lets a restored guest go on as who it was. */
export async function releaseGuest(vm: Vm, deadline: Deadline): Promise<void> {
  const link = await vm.link(deadline)
  await link.release({ time: new Date(), entropy: guestEntropy() }, deadline)
}

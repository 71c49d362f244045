import { constants } from 'node:os'
import { ApiError } from '@offshoot/contract/errors'
import type { ExecBody } from '@offshoot/contract/exec'
import type { GuestCommand } from '@offshoot/guest-link/guest-command'
import { GuestLinkLost, GuestRequestError, GuestRunError } from '@offshoot/guest-link/guest-link-error'
import type { GuestLink } from '@offshoot/guest-link/link'
import { Deadline, DeadlineExceeded } from '@offshoot/kit/deadline'
import type { Vm } from '../vm/vm.ts'
import type { Sandbox } from './sandbox.ts'

/** Milliseconds in which a guest must answer a new connection, and a question that runs nothing. */
const LINK_MS = 10_000
/** Milliseconds between the loss of a channel and the end of its QEMU, where that is the reason. */
const END_MS = 500

/** @throws ApiError 404 */
export function runningVm({ manifest, vm }: Sandbox): Vm {
  if (vm === null || vm.hasEnded || manifest.status !== 'running') throw new ApiError('sandboxNotRunning')
  return vm
}

/** @throws DeadlineExceeded, GuestLinkLost: for {@link explainGuestError} */
export function guestLink(vm: Vm, { id }: Sandbox): Promise<GuestLink> {
  return vm.link(guestDeadline(`answer of ${id}`))
}

export function guestDeadline(what: string): Deadline {
  return Deadline.after(LINK_MS, what)
}

/** Asks the guest of a running sandbox. @throws ApiError for whatever goes wrong */
export async function withGuest<T>(sandbox: Sandbox, ask: (link: GuestLink) => Promise<T>): Promise<T> {
  const vm = runningVm(sandbox)
  try {
    return await ask(await guestLink(vm, sandbox))
  } catch (error) {
    throw await explainGuestError(error, vm)
  }
}

export function shellCommand(body: ExecBody): GuestCommand {
  return { argv: ['/bin/sh', '-c', body.cmd], ...accountOf(body) }
}

/** What a command may be given beside its program. */
export function accountOf({ cwd, env, user }: Pick<ExecBody, 'cwd' | 'user'> & Partial<Pick<ExecBody, 'env'>>) {
  return {
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env }),
    ...(user === undefined ? {} : { user }),
  }
}

/** What went wrong with a guest, as callers are told. */
export async function explainGuestError(error: unknown, vm: Vm): Promise<unknown> {
  if (error instanceof GuestRunError) {
    const { EAGAIN, ENOMEM } = constants.errno
    if (error.errno === EAGAIN || error.errno === ENOMEM)
      return new ApiError('tooManyCommands', { detail: error.message })
    return new ApiError('invalidField', { error: error.message }, { cause: error })
  }
  if (error instanceof GuestRequestError && error.errno === constants.errno.ENOENT) return new ApiError('notFound')
  if (error instanceof GuestLinkLost && (await endsSoon(vm)))
    return new ApiError('sandboxNotRunning', {}, { cause: error })
  if (error instanceof DeadlineExceeded || error instanceof GuestLinkLost) {
    return new ApiError('internal', { error: 'the guest does not answer' }, { cause: error })
  }
  return error
}

/** A QEMU that dies takes the guest's channel with it a moment before its own end is known. */
async function endsSoon(vm: Vm): Promise<boolean> {
  return Deadline.after(END_MS, 'end of the VM')
    .race(vm.ended)
    .then(
      () => true,
      () => false,
    )
}

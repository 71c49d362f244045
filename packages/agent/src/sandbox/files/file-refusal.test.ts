import { constants } from 'node:os'
import { GuestFileError } from '@offshoot/guest-link/guest-file-error'
import { describe, expect, it } from 'vitest'
import { fileRefusal } from './file-refusal.ts'

const statuses = {
  ENOENT: 404,
  ENOTDIR: 400,
  EISDIR: 400,
  EINVAL: 400,
  ENXIO: 400,
  ENODEV: 400,
  ELOOP: 400,
  ENAMETOOLONG: 400,
  EACCES: 400,
  EPERM: 400,
  EROFS: 400,
  EXDEV: 400,
  EBADMSG: 400,
  EIO: 400,
  ENOSYS: 409,
  ESTALE: 409,
  EEXIST: 409,
  ENOTEMPTY: 409,
  EBUSY: 409,
  ETXTBSY: 409,
  EFBIG: 413,
  ENOSPC: 507,
  EDQUOT: 507,
  EAGAIN: 429,
  ENOMEM: 429,
  EMFILE: 429,
  ENFILE: 429,
} as const
type Listed = keyof typeof statuses

describe('fileRefusal', () => {
  it.each(Object.entries(statuses))('%s is %i, with an error text of the agent', (code, status) => {
    const refusal = fileRefusal(new GuestFileError(constants.errno[code as Listed], 'words of the guest'))
    expect(refusal.status).toBe(status)
    expect(refusal.body.error).not.toContain('words of the guest')
  })

  it('is a 400 with the guest’s message for every other errno', () => {
    const others = Object.entries(constants.errno).filter(([name]) => !(name in statuses))
    // Some numbers have two names: EWOULDBLOCK is EAGAIN.
    const numbers = new Set(Object.keys(statuses).map((name) => constants.errno[name as Listed]))
    const unlisted = others.map(([, number]) => number).filter((number) => !numbers.has(number))
    for (const number of [...unlisted, 0, 4_000_000_000]) {
      const refusal = fileRefusal(new GuestFileError(number, 'words of the guest'))
      expect([refusal.status, refusal.body.error]).toEqual([400, 'words of the guest'])
    }
  })
})

import { GUEST_KEPT_LABEL_MAX_BYTES } from '@offshoot/contract/guest-frame'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { formatLabel, parseLabel, shortened } from './background-label.ts'

const moment = fc.option(fc.date({ min: new Date(0), max: new Date('2059-01-01T00:00:00Z'), noInvalidDate: true }))

it('fits, and preserves the timeout and the start of the command, cut between characters', () => {
  fc.assert(
    fc.property(moment, fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1200 }), (timeoutAt, cmd) => {
      const label = formatLabel(timeoutAt, cmd)
      expect(Buffer.byteLength(label)).toBeLessThanOrEqual(GUEST_KEPT_LABEL_MAX_BYTES)
      expect(Buffer.byteLength(shortened(label))).toBeLessThanOrEqual(120)
      expect(parseLabel(shortened(label)).timeoutAt).toEqual(timeoutAt)
      const parsed = parseLabel(label)
      expect(parsed.timeoutAt).toEqual(timeoutAt)
      expect(cmd.startsWith(parsed.cmd)).toBe(true)
      if (Buffer.byteLength(cmd) > 1000) expect(Buffer.byteLength(parsed.cmd)).toBeGreaterThan(996)
      else expect(parsed.cmd).toBe(cmd)
    }),
  )
})

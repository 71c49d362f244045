import { constants } from 'node:os'

/** The Linux number of a signal. @throws RangeError when there is none */
export function signalNumber(signal: number | NodeJS.Signals): number {
  const number = typeof signal === 'number' ? signal : constants.signals[signal]
  if (!Number.isInteger(number) || number < 1 || number > 64) throw new RangeError(`no such signal: ${signal}`)
  return number
}

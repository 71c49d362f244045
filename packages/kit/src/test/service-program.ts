import { join } from 'node:path'

/**
 * The file to run a service from: the bundle that `bin/test` has just built, which starts in half the time, or its source.
 * @param source the file of its program
 */
export function serviceProgram(name: 'agent' | 'control' | 'prepare', source: string): string {
  const bundled = process.env['OFFSHOOT_BUNDLED_SERVICES']
  return bundled === undefined ? source : join(bundled, `${name}.js`)
}

import { join } from 'node:path'
import { serviceProgram } from '@offshoot/kit/test/service-program'

const SOURCE = join(import.meta.dirname, '..')

/** The agent's programs, and the files to run them from. */
export const PROGRAMS = {
  'main.ts': serviceProgram('agent', join(SOURCE, 'main.ts')),
  'prepare.ts': serviceProgram('prepare', join(SOURCE, 'prepare.ts')),
  'end-all.ts': join(SOURCE, 'end-all.ts'),
} as const
export type Program = keyof typeof PROGRAMS

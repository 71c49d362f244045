import { constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { canAccess } from './can-access.ts'

/** Whether a program is in PATH. */
export async function hasProgram(name: string): Promise<boolean> {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter(Boolean)
  return (await Promise.all(folders.map((folder) => canAccess(join(folder, name), constants.X_OK)))).includes(true)
}

import { chown, mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** Creates the folder of a sandbox or of a spare. QEMU's user can pass through it, and reads nothing in it. */
export async function makeSandboxFolder(folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o711 })
}

/** Creates the working directory of a QEMU. @param uid the user who gets it; `null` if the agent is not root */
export async function makeVmFolder(folder: string, uid: number | null): Promise<void> {
  await mkdir(folder, { mode: 0o700 })
  await giveToUser(folder, uid)
}

/** No effect if the agent is not root: `uid` is `null` then. */
export async function giveToUser(path: string, uid: number | null): Promise<void> {
  if (uid !== null) await chown(path, uid, uid)
}

/** Deletes a file, or a folder with its content. No effect if there is nothing. */
export async function removeTree(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true })
}

/** Deletes everything in a folder. */
export async function emptyFolder(folder: string): Promise<void> {
  for (const name of await readdir(folder)) await removeTree(join(folder, name))
}

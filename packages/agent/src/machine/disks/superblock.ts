import { open } from 'node:fs/promises'

/**
 * The fields of an ext4 superblock that show whether the file system was unmounted cleanly (kernel,
 * Documentation/filesystems/ext4). It is at byte 1024, little-endian. A guest can forge it, but harms only its own workspace.
 */
const AT = 1024
const BYTES = 104
const MAGIC = 0xef53
const STATE_VALID = 1
const STATE_ERRORS = 2
const INCOMPAT_RECOVER = 4

export type Condition = 'clean' | 'unclean' | 'not-ext4'

export async function readCondition(path: string): Promise<Condition> {
  const file = await open(path, 'r')
  try {
    const block = Buffer.alloc(BYTES)
    const { bytesRead } = await file.read(block, 0, BYTES, AT)
    if (bytesRead < BYTES || block.readUInt16LE(56) !== MAGIC) return 'not-ext4'
    const state = block.readUInt16LE(58)
    const isLeft = (state & STATE_VALID) !== 0 && (block.readUInt32LE(96) & INCOMPAT_RECOVER) === 0
    return isLeft && (state & STATE_ERRORS) === 0 ? 'clean' : 'unclean'
  } finally {
    await file.close()
  }
}

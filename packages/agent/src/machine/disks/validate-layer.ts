import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Backing } from './qcow2.ts'

/** QEMU's docs/interop/qcow2.txt: the header of version 3, and the header extension with the backing file's format. */
const MAGIC = 0x5146_49fb
const HEAD_BYTES = 104
const FORMAT_EXTENSION = 0xe279_2aca
/** Bytes that must contain header, extensions and the name of the backing file. */
const MAX_HEADER_BYTES = 4096

/** A layer differs from what the agent asked QEMU to make. */
export class UntrustedLayer extends Error {
  override readonly name = 'UntrustedLayer'
}

/**
 * Validates a layer that a QEMU wrote, because its guest may have compromised that QEMU. The layer must be a regular file with
 * one name. Its header must name the expected backing file and format and nothing else: the next QEMU opens what it names.
 * @throws UntrustedLayer
 */
export async function validateLayer(
  path: string,
  { path: below, format }: Pick<Backing, 'path' | 'format'>,
): Promise<void> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (error: unknown) => {
      throw new UntrustedLayer('a layer cannot be opened', { cause: error })
    },
  )
  try {
    const stats = await file.stat()
    if (!stats.isFile() || stats.nlink !== 1) throw new UntrustedLayer('a layer is no file of its own')
    const header = Buffer.alloc(MAX_HEADER_BYTES)
    const { bytesRead } = await file.read(header, 0, header.length, 0)
    const named = backingOf(header.subarray(0, bytesRead))
    if (named.path === below && named.format === format) return
    throw new UntrustedLayer(`a layer lies over ${JSON.stringify(named)}`)
  } finally {
    await file.close()
  }
}

function backingOf(header: Buffer): { readonly path: string; readonly format: string | null } {
  if (header.length < HEAD_BYTES || header.readUInt32BE(0) !== MAGIC || header.readUInt32BE(4) !== 3) {
    throw new UntrustedLayer('a layer has another head')
  }
  // The agent never asks for an external data file, compression or encryption.
  if (header.readBigUInt64BE(72) !== 0n || header.readUInt32BE(32) !== 0) {
    throw new UntrustedLayer('a layer has features that it was not made with')
  }
  const offset = Number(header.readBigUInt64BE(8))
  const path = header.subarray(offset, offset + header.readUInt32BE(16)).toString('latin1')
  return { path, format: formatOf(header, header.readUInt32BE(100), offset) }
}

function formatOf(header: Buffer, from: number, end: number): string | null {
  for (let at = from; at + 8 <= Math.min(end, header.length);) {
    const [type, bytes] = [header.readUInt32BE(at), header.readUInt32BE(at + 4)]
    if (type === FORMAT_EXTENSION) return header.subarray(at + 8, at + 8 + bytes).toString('latin1')
    if (type === 0) return null
    at += 8 + Math.ceil(bytes / 8) * 8
  }
  return null
}

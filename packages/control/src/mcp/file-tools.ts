import { isUtf8 } from 'node:buffer'
import { fileWritten, folderListing } from '@offshoot/contract/file'
import { z } from 'zod'
import { sandboxId } from './sandbox-tools.ts'
import { type AnyTool, CHANGES, READS, text, tool } from './tool.ts'

/** Bytes of a file that a tool or a resource shows. */
export const MAX_SHOWN_BYTES = 256 * 1024
/** Entries of a directory that a tool shows. */
const MAX_ENTRIES = 1000

const path = z.string().startsWith('/').max(4095).describe('Absolute path')

export function fileUrl(id: string, route: '' | '/dir', query: Readonly<Record<string, string>>): string {
  return `/v1/sandboxes/${id}/fs${route}?${new URLSearchParams(query).toString()}`
}

export const fileTools: readonly AnyTool[] = [
  tool({
    name: 'read_file',
    title: 'Read a file',
    description: 'The content of a file of a sandbox, at most 256 KiB from an offset.',
    input: z.object({ sandbox_id: sandboxId, path, offset: z.int().min(0).default(0).describe('Bytes to skip') }),
    output: z.object({
      path: z.string(),
      content: z.string(),
      encoding: z.enum(['utf8', 'base64']),
      bytes: z.int(),
      is_end: z.boolean().describe('Whether the file ends here'),
    }),
    annotations: READS,
    run: async ({ sandbox_id: id, path: file, offset }, { api }) => {
      const headers = { range: `bytes=${offset}-${offset + MAX_SHOWN_BYTES}` }
      const found = await api.bytes({ method: 'GET', url: fileUrl(id, '', { path: file }), headers })
      const bytes = found.subarray(0, MAX_SHOWN_BYTES)
      const encoding: 'utf8' | 'base64' = isUtf8(bytes) ? 'utf8' : 'base64'
      return {
        path: file,
        content: bytes.toString(encoding),
        encoding,
        bytes: bytes.length,
        is_end: found.length <= MAX_SHOWN_BYTES,
      }
    },
    show: ({ content }) => [text(content)],
  }),
  tool({
    name: 'write_file',
    title: 'Write a file',
    description: 'Writes a file of a sandbox, and the directories above it. A file that is there is replaced.',
    input: z.object({
      sandbox_id: sandboxId,
      path,
      content: z.string(),
      encoding: z.enum(['utf8', 'base64']).default('utf8'),
      user: z.string().optional().describe('Who owns the file, by default root'),
    }),
    output: z.object({ path: z.string(), bytes: z.int() }),
    annotations: { ...CHANGES, destructiveHint: true, idempotentHint: true },
    run: ({ sandbox_id: id, path: file, content, encoding, user }, { api }) =>
      api.read(fileWritten.pick({ path: true, bytes: true }), {
        method: 'PUT',
        url: fileUrl(id, '', { path: file, ...(user !== undefined && { user }) }),
        body: Buffer.from(content, encoding),
        headers: { 'content-type': 'application/octet-stream' },
      }),
  }),
  tool({
    name: 'list_dir',
    title: 'List a directory',
    description: 'The entries of a directory of a sandbox, at most 1000.',
    input: z.object({ sandbox_id: sandboxId, path, depth: z.int().min(1).max(20).default(1) }),
    output: z.object({
      entries: z.array(z.object({ path: z.string(), type: z.string(), size: z.int() })),
      left_out: z.int().describe('Further entries'),
    }),
    annotations: READS,
    run: async ({ sandbox_id: id, path: folder, depth }, { api }) => {
      const url = fileUrl(id, '/dir', { path: folder, depth: String(depth) })
      const { entries } = await api.read(folderListing, { method: 'GET', url })
      const shown = entries.slice(0, MAX_ENTRIES)
      return {
        entries: shown.map(({ path: entry, type, size }) => ({ path: entry, type, size })),
        left_out: entries.length - shown.length,
      }
    },
  }),
]

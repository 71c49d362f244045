import { isUtf8 } from 'node:buffer'
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/server'
import type { PreviewAddress } from '@offshoot/contract/preview-address'
import { z } from 'zod'
import { commandTools } from './command-tools.ts'
import { fileTools, fileUrl, MAX_SHOWN_BYTES } from './file-tools.ts'
import type { OwnApi } from './own-api.ts'
import { sandboxTools } from './sandbox-tools.ts'
import { serviceTools } from './service-tools.ts'

const INSTRUCTIONS = `Offshoot runs Linux sandboxes (microVMs), PostgreSQL databases and apps.
Create a sandbox, run commands and code in it, read and write its files, and delete it at the end.
fork_sandbox copies a running sandbox in milliseconds: try several solutions in copies instead of undoing steps.
Commands and files act as root unless a user is named. Files outlive commands, and a sandbox lives until its expiry.`

const FORKS = `A fork is a copy of a running sandbox: files, memory and processes, as they are at that instant.
It takes milliseconds, and the original goes on.

Use forks
- before a risky step: fork, try it in the copy, and delete the copy if it goes wrong;
- to compare: prepare once (install, build, load data), fork as often as you have ideas, run one idea in each copy;
- to search: after each round keep the best copy, delete the others, and fork the best one again.

How
1. create_sandbox, and prepare it with run_command until everything that all attempts share is done.
2. fork_sandbox with count: the answer has the ids of the copies.
3. Run one attempt in each copy. Check each with the same command, and compare exit codes and output.
4. Go on with the best copy. delete_sandbox the others and the original.

A fork counts as a sandbox for limits and cost. Connections to the outside are not copied.`

export interface McpServerOptions {
  readonly api: OwnApi
  readonly preview: PreviewAddress
  readonly version: string
  /** The tool that the request calls. The server then has only this one, because each costs time. */
  readonly calledTool: string | null
}

/** A server for one request, with the rights of one caller. */
export function makeMcpServer({ api, preview, version, calledTool }: McpServerOptions): McpServer {
  const server = new McpServer({ name: 'offshoot', title: 'Offshoot', version }, { instructions: INSTRUCTIONS })
  const tools = [...sandboxTools(preview), ...commandTools, ...fileTools, ...serviceTools]
  const called = tools.find(({ name }) => name === calledTool)
  for (const tool of called === undefined ? tools : [called]) tool.register(server, api)
  server.registerResource(
    'sandbox-file',
    new ResourceTemplate('sandbox://{id}/{+path}', { list: undefined }),
    { title: 'File of a sandbox', description: 'sandbox://SANDBOX_ID/absolute/path, at most 256 KiB' },
    async (uri, { id, path }) => {
      const [sandbox, file] = [z.uuid().parse(id), `/${String(path)}`]
      const headers = { range: `bytes=0-${MAX_SHOWN_BYTES - 1}` }
      const bytes = await api.bytes({ method: 'GET', url: fileUrl(sandbox, '', { path: file }), headers })
      const content = isUtf8(bytes)
        ? { mimeType: 'text/plain', text: bytes.toString() }
        : { mimeType: 'application/octet-stream', blob: bytes.toString('base64') }
      return { contents: [{ uri: uri.href, ...content }] }
    },
  )
  server.registerPrompt(
    'explore_with_forks',
    {
      title: 'Solve a task with forks',
      description: 'How to try several solutions in copies of a sandbox',
      argsSchema: z.object({ task: z.string().optional().describe('What to solve') }),
    },
    ({ task }) => ({
      messages: [
        { role: 'user', content: { type: 'text', text: task === undefined ? FORKS : `${FORKS}\n\nThe task: ${task}` } },
      ],
    }),
  )
  return server
}

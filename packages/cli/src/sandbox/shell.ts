import { type Action, operand } from '../frame/command.ts'
import { resolve } from '../frame/resolve.ts'
import { attach } from '../terminal/attach.ts'
import { parseDetachKey } from '../terminal/detach-key.ts'
import { shellWords } from '../terminal/shell-words.ts'

interface Options {
  readonly session?: string
  readonly user?: string
  readonly cwd?: string
  readonly detachKey?: string
}

const DETACH_KEY = 'ctrl-]'

export const run: Action<Options> = async (cli, line) => {
  const { session, user, cwd, detachKey = DETACH_KEY } = line.options
  const key = parseDetachKey(detachKey)
  const text = operand(line, 0)
  const words = line.operands.slice(1)
  const sandboxId = await resolve(await cli.api(), 'sandbox', text)
  const cmd = words.length === 0 ? undefined : words.length === 1 ? words[0] : shellWords(words)
  const end = await attach(cli, { sandboxId, session, user, cwd, cmd, detachKey: key })
  if (end !== 'detached') return end
  cli.out.note(`\nThe terminal is kept. Come back: offshoot shell --session ${session ?? ''} ${text}`)
  return 0
}

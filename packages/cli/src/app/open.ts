import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type Action, operand } from '../frame/command.ts'
import { readApp } from './show.ts'

export const run: Action = async (cli, line) => {
  const { name_url: nameUrl, url } = await readApp(cli, operand(line, 0))
  const address = nameUrl ?? url
  cli.out.line(address)
  const opener = process.platform === 'darwin' ? 'open' : 'xdg-open'
  const child = spawn(opener, [address], { env: cli.env, stdio: 'ignore', signal: cli.signal })
  const [code] = await once(child, 'close').catch(() => [1])
  if (code !== 0) cli.out.note('No browser could be opened here: open the address yourself.')
}

import { account } from './account/commands.ts'
import { app } from './app/commands.ts'
import { database } from './database/commands.ts'
import type { Command, Group } from './frame/command.ts'
import { host } from './host/commands.ts'
import { key } from './key/commands.ts'
import { cp, sandbox, shell } from './sandbox/commands.ts'
import { server } from './server/commands.ts'
import { snapshot } from './snapshot/commands.ts'
import { ssh } from './ssh/commands.ts'
import { template } from './template/commands.ts'
import { volume } from './volume/commands.ts'

/** Commands that stand directly after `offshoot`, in the order of the help. */
export const commands: readonly Command[] = [...account, shell, cp, ...ssh, ...server]

/** Commands about one kind of object. */
export const groups: readonly Group[] = [sandbox, snapshot, template, database, volume, app, key, host]

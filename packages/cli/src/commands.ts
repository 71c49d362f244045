import { account } from './account/commands.ts'
import type { Command, Group } from './frame/command.ts'
import { cp, sandbox, shell } from './sandbox/commands.ts'

/** Commands that stand directly after `offshoot`, in the order of the help. */
export const commands: readonly Command[] = [...account, shell, cp]

/** Commands about one kind of object. */
export const groups: readonly Group[] = [sandbox]

import type { Action } from '../frame/command.ts'
import { makeLink } from '../frame/preview-links.ts'

export const run: Action = async (cli, line) => makeLink(cli, line, 'app')

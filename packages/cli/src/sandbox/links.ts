import type { Action } from '../frame/command.ts'
import { showLinks } from '../frame/preview-links.ts'

export const run: Action = async (cli, line) => showLinks(cli, line, 'sandbox')

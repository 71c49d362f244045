import { command, type Group } from '../frame/command.ts'

export const host: Group = {
  name: 'host',
  summary: 'Machines that run the sandboxes, for operators (OFFSHOOT_OPERATOR_KEY)',
  commands: [
    command({
      name: 'ls',
      summary: 'List hosts with their state, capacity, use, and what runs there',
      hasJson: true,
      hasQuiet: true,
      examples: ['host ls'],
      load: async () => import('./ls.ts'),
    }),
    command({
      name: 'token',
      summary: 'Make a token with which one machine can join within an hour (bin/up --join)',
      hasJson: true,
      examples: ['host token'],
      load: async () => import('./token.ts'),
    }),
  ],
}

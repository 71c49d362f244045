import { expect, it } from 'vitest'
import { CommandLine } from './cli.ts'
import { refusal, runExamples } from './cli-examples.ts'
import type { Offshoot } from './offshoot.ts'

/** The commands `offshoot db`. */
export function cliDatabaseCases(offshootOf: () => Offshoot): void {
  it(
    'are made, asked, branched, backed up, restored and deleted from the command line',
    { tags: ['long'] },
    async () => {
      const cli = await CommandLine.of(offshootOf())
      const refused = async (code: number, argv: readonly string[], options = {}) => refusal(cli, code, argv, options)
      await runExamples(cli, 'Databases')
      const shop = (await cli.json(['db', 'show', 'shop'])).id as string
      expect(await cli.ok(['db', 'ls'])).toMatch(new RegExp(`^${shop} +shop +1g +running +`, 'm'))
      const { password, connection_url: url } = await cli.json(['db', 'show', 'shop'])
      const shown = await cli.run(['db', 'show', shop.slice(0, 8)])
      expect(shown).toMatchObject({ code: 0, stdout: expect.stringMatching(/^label +shop$/m) })
      expect(shown.stdout + shown.stderr).not.toContain(password)
      expect(await cli.ok(['db', 'url', 'shop'])).toBe(url)
      // Other users can read the arguments of psql.
      const asked = await cli.spawn([
        'db',
        'psql',
        'shop',
        '-At',
        '-c',
        'select id from orders',
        '-c',
        '\\! tr "\\0" " " < /proc/$PPID/cmdline',
      ])
      expect(asked).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/^7\n\S*psql -At -c /) })
      expect(asked.stdout).not.toContain(password)
      expect(await cli.spawn(['db', 'psql', 'shop', '-c', 'select nothing'])).toMatchObject({ code: 1 })
      expect(await refused(1, ['db', 'psql', 'shop'], { env: { PATH: '/nonexistent' } })).toMatch(
        /^psql is not installed on this machine: install it .+ offshoot db query shop SQL$/,
      )
      expect(await cli.ok(['db', 'query', 'shop', '-'], { stdin: 'select 1 as one, null as "none"' })).toMatch(
        /^one +none\n1 +NULL$/,
      )
      const many = await cli.run([
        'db',
        'query',
        'shop',
        'select generate_series(1, 3) as n',
        '--max-rows',
        '2',
        '--json',
      ])
      expect(JSON.parse(many.stdout)).toEqual([{ n: 1 }, { n: 2 }])
      expect(many.stderr).toContain('--max-rows')
      expect(await refused(1, ['db', 'query', 'shop', 'select nothing'])).toContain('"nothing"')
      const backup = await cli.ok(['db', 'backup', 'shop'])
      expect(await cli.ok(['db', 'backups', 'shop'])).toMatch(new RegExp(`^${backup} +you +`, 'm'))
      const branch = await cli.ok(['db', 'branch', 'shop', 'again', '--at', backup.slice(0, 6)])
      expect(await cli.json(['db', 'query', 'again', 'select * from orders'])).toEqual([{ id: 7 }])
      expect(await cli.ok(['db', 'set', 'again', '--label', 'other', '--always-on'])).toBe(branch)
      expect(await cli.json(['db', 'show', 'other'])).toMatchObject({ always_on: true, parent_id: shop })
      const renewed = await cli.json(['db', 'reset-credentials', 'other'])
      expect([renewed.id, renewed.password === password]).toEqual([branch, false])
      expect(await cli.ok(['db', 'stats', 'other'])).toMatch(/^connections +\d+ of 100$/m)
      expect(await cli.ok(['db', 'logs', 'other', '--tail', '5'])).not.toBe('')
      const lines = await cli.run(['db', 'logs', '-f', '-t', 'other'], { until: (stdout) => stdout.includes('\n') })
      expect(lines).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d{4}-\S+Z /) })
      expect(await refused(1, ['db', 'restore', 'shop', '1h'])).not.toBe('')
      const [{ now }] = await cli.json(['db', 'query', 'shop', `select to_json(now()) #>> '{}' as now`])
      const restored = await cli.ok(['db', 'restore', 'shop', now, 'restored'])
      expect(await cli.json(['db', 'query', restored, 'select * from orders'])).toEqual([{ id: 7 }])
      expect(await cli.ok(['db', 'backups', 'shop', '--rm', backup.slice(0, 6), '--yes'])).toBe(backup)
      expect(await cli.ok(['db', 'backups', 'shop', '-q'])).not.toContain(backup)
      expect(await refused(3, ['db', 'show', 'nothing'])).toContain('there is no database "nothing"')
      expect(await refused(2, ['db', 'rm', 'shop'])).toContain('databases with all their data and backups: shop')
      await cli.ok(['db', 'rm', shop, 'other', 'restored', '--yes'])
      expect(await cli.ok(['db', 'ls', '-q'])).not.toContain(shop)
      await cli.remove()
    },
  )
}

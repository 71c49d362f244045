import { type Branch, type Exploration, explore, type Sandbox } from '@offshoot/sdk'

/** Patches that a model might propose for `add.sh`, of which few are right. */
const PATCHES = [
  'echo $(($1 - $2))',
  'echo $1$2',
  'echo $(($1 * $2))',
  'echo $1 + $2',
  'echo $(($1 + $1))',
  'exit 1',
  'echo $(($1 + $2))',
  'sleep 600',
]

const TEST = `for pair in "2 3 5" "2 2 4" "0 7 7" "-1 1 0"; do
  set -- $pair
  [ "$(sh /work/add.sh $1 $2)" = "$3" ] && echo passed
done`

/** Repairs a program whose test fails: it tries eight patches in eight forks and keeps the one that passes most. */
export async function repair(sandbox: Sandbox, signal?: AbortSignal): Promise<Exploration<number>> {
  await sandbox.files.write('/work/add.sh', 'echo 0\n')
  await sandbox.files.write('/work/test.sh', TEST)
  const branches = PATCHES.map((patch): Branch<number> => ({
    name: patch,
    run: async (fork, cancelled) => {
      await fork.files.write('/work/add.sh', `${patch}\n`, { signal: cancelled })
      const { stdout } = await fork.exec('sh /work/test.sh', { signal: cancelled, timeoutSeconds: 60 })
      return stdout.split('passed').length - 1
    },
  }))
  return explore(sandbox, branches, { score: (passed) => passed, stopAt: 4, concurrency: 4, signal })
}

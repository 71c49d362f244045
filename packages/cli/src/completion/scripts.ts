import { type Action, operand } from '../frame/command.ts'
import { UsageError } from '../frame/failure.ts'

/**
 * Each script asks the program itself (`offshoot __complete WORDS`), so that it knows every command, and the names of the
 * user's objects. Without an answer, the shell completes names of files.
 */
const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_offshoot() {
  local found
  COMPREPLY=()
  while IFS= read -r found; do COMPREPLY+=("$found"); done \\
    < <(offshoot __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if [[ "\${COMPREPLY[0]}" == *: ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -o default -F _offshoot offshoot
`,
  zsh: `#compdef offshoot
_offshoot() {
  local -a found
  found=(\${(f)"$(offshoot __complete "\${(@Q)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)"})
  if (( ! \${#found} )); then _files
  elif [[ $found[1] == *: ]]; then compadd -S '' -a found
  else compadd -a found; fi
}
if [ "$funcstack[1]" = "_offshoot" ]; then _offshoot "$@"; else compdef _offshoot offshoot; fi
`,
  fish: `function __offshoot_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l found (offshoot __complete $words[2..-1] 2>/dev/null)
  if set -q found[1]
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c offshoot -f -a '(__offshoot_complete)'
`,
}

export const run: Action = async (cli, line) => {
  const script = SCRIPTS[operand(line, 0)]
  if (script === undefined) throw new UsageError(`the shell must be one of ${Object.keys(SCRIPTS).join(', ')}`)
  cli.out.raw(script)
}

# Presses Tab after each command line in an interactive zsh, and prints what zsh offers.
# Arguments: a folder with the file _offshoot, a file for the results, the command lines.
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1= RPS1=; fpath=(${(q)1} \$fpath); autoload -Uz compinit; compinit -u -D; LISTMAX=1000
compadd() {
  local -a hits; builtin compadd -A hits \"\$@\"; offered+=(\$hits); builtin compadd \"\$@\"
}
report() { print -r -- \"\$BUFFER|\${(j:|:)offered}\" >> ${(q)2}; BUFFER=; offered=() }
zle -N report; bindkey '^X' report; print -r -- RE''ADY"
zpty -r shell output '*READY*'
for line in "${@[3,-1]}"; do zpty -w -n shell "$line"$'\t\x18'; done
zpty -w -n shell $'print -r -- DO""NE\r'
zpty -r shell output '*DONE*'
zpty -d shell

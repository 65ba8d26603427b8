# Completion of labgen for bash: commands and options as labgen's own help has
# them, so that nothing here need be kept up to date.
_labgen() {
  local word=${COMP_WORDS[COMP_CWORD]} words
  if [ "$COMP_CWORD" -eq 1 ]; then
    words=$(labgen --help 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p')
    mapfile -t COMPREPLY < <(compgen -W "$words --help --version" -- "$word")
  elif [[ $word == -* ]]; then
    words=$(labgen "${COMP_WORDS[1]}" --help 2>/dev/null |
      grep -oE -- '(^|[ ,])--?[a-z][a-z-]*' | tr -d ' ,')
    mapfile -t COMPREPLY < <(compgen -W "$words --help" -- "$word")
  fi
}
complete -o default -F _labgen labgen

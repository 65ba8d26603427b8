#compdef labgen
# Completion of labgen for zsh: commands and options as labgen's own help has
# them, so that nothing here need be kept up to date.
local -a found
if (( CURRENT == 2 )); then
  found=(${(f)"$(labgen --help 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*\) *\(.*\)/\1:\2/p')"})
  _describe command found
elif [[ $PREFIX == -* ]]; then
  found=(${(f)"$(labgen $words[2] --help 2>/dev/null | grep -oE -- '(^|[ ,])--?[a-z][a-z-]*' | tr -d ' ,')"} --help)
  compadd -a found
else
  _files
fi

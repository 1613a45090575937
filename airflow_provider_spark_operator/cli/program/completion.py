"""`spark-operator completion`: print the completion script of a shell."""

from enum import StrEnum
from typing import Annotated

from ..base.exit_codes import ExitCode
from ..options.declaration import Parameter

_BASH = """\
_spark_operator() {
  local IFS=$'\\n'
  local word="${COMP_WORDS[COMP_CWORD]#=}"
  COMPREPLY=($(spark-operator complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1))
  case "${COMPREPLY[0]-}" in
    :files) COMPREPLY=($(compgen -f -- "$word")); compopt -o filenames 2>/dev/null ;;
    :folders) COMPREPLY=($(compgen -d -- "$word")); compopt -o filenames 2>/dev/null ;;
  esac
}
complete -F _spark_operator spark-operator
"""

_ZSH = """\
#compdef spark-operator
_spark_operator() {
  local -a found
  local line meaning
  for line in ${(f)"$(spark-operator complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)"}; do
    meaning="${line#*$'\\t'}"
    found+=("${${line%%$'\\t'*}//:/\\\\:}${meaning:+:$meaning}")
  done
  if [ "$line" = :files ]; then compset -P '--*='; _files
  elif [ "$line" = :folders ]; then compset -P '--*='; _files -/
  elif (( ${#found} )); then _describe 'spark-operator' found
  fi
}
if [ "$funcstack[1]" = "_spark-operator" ]; then _spark_operator "$@"; else compdef _spark_operator spark-operator; fi
"""

_FISH = """\
function __spark_operator_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found (spark-operator complete -- $words[2..-1] 2>/dev/null)
    if string match -qr '^:(files|folders)$' -- "$found[1]"
        set -l option (string match -r '^--[a-z-]+=' -- $words[-1])
        set -l path (string replace -r '^--[a-z-]+=' '' -- $words[-1])
        set -l complete (test "$found[1]" = :folders && echo __fish_complete_directories || echo __fish_complete_path)
        for file in ($complete "$path")
            echo "$option$file"
        end
    else
        printf '%s\\n' $found
    end
end
complete -c spark-operator -f -a '(__spark_operator_complete)'
"""


class Shell(StrEnum):
    """The supported shells."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


_SCRIPTS = {Shell.BASH: _BASH, Shell.ZSH: _ZSH, Shell.FISH: _FISH}


def run(shell: Annotated[Shell, Parameter("bash|zsh|fish", "the shell")]) -> ExitCode:
    """Print the completion script of a shell.

    It completes verbs, options and their values, fields, and the names of contexts, namespaces, applications,
    executors and SparkClusters. If the cluster does not answer within two seconds, no names of its objects are
    completed.

    Examples:
        # Complete in each new bash
        echo 'source <(spark-operator completion bash)' >> ~/.bashrc

        # Complete in each new zsh; ~/.zshrc must call compinit before this line
        echo 'source <(spark-operator completion zsh)' >> ~/.zshrc

        # Complete in each new fish
        spark-operator completion fish > ~/.config/fish/completions/spark-operator.fish
    """
    print(_SCRIPTS[shell], end="")
    return ExitCode.SUCCESS

_spark_operator() {
  local IFS=$'\n'
  local word="${COMP_WORDS[COMP_CWORD]#=}"
  COMPREPLY=($(spark-operator complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1))
  case "${COMPREPLY[0]-}" in
    :files) COMPREPLY=($(compgen -f -- "$word")); compopt -o filenames 2>/dev/null ;;
    :folders) COMPREPLY=($(compgen -d -- "$word")); compopt -o filenames 2>/dev/null ;;
  esac
}
complete -F _spark_operator spark-operator

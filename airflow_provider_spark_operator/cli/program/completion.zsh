#compdef spark-operator
_spark_operator() {
  local -a found
  local line meaning
  for line in ${(f)"$(spark-operator complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)"}; do
    meaning="${line#*$'\t'}"
    found+=("${${line%%$'\t'*}//:/\\:}${meaning:+:$meaning}")
  done
  if [ "$line" = :files ]; then compset -P '--*='; _files
  elif [ "$line" = :folders ]; then compset -P '--*='; _files -/
  elif (( ${#found} )); then _describe 'spark-operator' found
  fi
}
if [ "$funcstack[1]" = "_spark-operator" ]; then _spark_operator "$@"; else compdef _spark_operator spark-operator; fi

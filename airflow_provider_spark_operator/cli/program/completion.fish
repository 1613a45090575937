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
        printf '%s\n' $found
    end
end
complete -c spark-operator -f -a '(__spark_operator_complete)'

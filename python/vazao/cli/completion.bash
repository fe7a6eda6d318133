# Completion of vazao for bash 4.4 or newer. For all new shells:
#     vazao completion bash > ~/.local/share/bash-completion/completions/vazao
# For this one:
#     source <(vazao completion bash)

_vazao_completion() {
    mapfile -t COMPREPLY < <(
        VAZAO_COMPLETE=$COMP_CWORD "$1" "${COMP_WORDS[@]}" 2> /dev/null
    )
    # Bash replaces what stands after the equals sign alone, where that parts words.
    if [[ $COMP_WORDBREAKS == *=* && $COMP_LINE == *=* ]]; then
        local word=${COMP_WORDS[COMP_CWORD]}
        if [[ $word == '=' || ${COMP_WORDS[COMP_CWORD - 1]} == '=' ]]; then
            COMPREPLY=("${COMPREPLY[@]#*=}")
        fi
    fi
    # What ends so goes on: a key has another part or a value, a folder has files.
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=./,] ]]; then
        compopt -o nospace
    fi
}

complete -o default -F _vazao_completion vazao

#compdef vazao
# Completion of vazao for zsh. For all new shells, with a folder of $fpath:
#     vazao completion zsh > ~/.zfunc/_vazao
# For this one, after compinit:
#     source <(vazao completion zsh)

_vazao() {
    local -a found
    found=("${(@f)$(
        VAZAO_COMPLETE=$((CURRENT - 1)) ${~words[1]} "${(@Q)words}" 2> /dev/null
    )}")
    found=(${found:#})
    if (( ! $#found )); then
        _files
        return
    fi
    # What ends so goes on: a key has another part or a value, a folder has files.
    compadd -- ${found:#*[=./,]}
    compadd -S '' -- ${(M)found:#*[=./,]}
}

if [[ $funcstack[1] == _vazao ]]; then
    _vazao "$@"
else
    compdef _vazao vazao
fi

# Completion of vazao for fish. For all new shells:
#     vazao completion fish > ~/.config/fish/completions/vazao.fish
# For this one:
#     vazao completion fish | source

function __vazao_candidates
    set -l words (commandline -opc) (commandline -ct)
    set -l place (math (count $words) - 1)
    set -l found (env VAZAO_COMPLETE=$place $words[1] $words 2> /dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end

complete --command vazao --no-files --arguments '(__vazao_candidates)'

"""A fuzzer of scenarios and studies: what a stranger's file may be is refused in plain words or run to a true end."""

"""One module a command; each has `run(arguments) -> ExitCode` and is imported only when it is called."""
